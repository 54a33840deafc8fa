import { z } from 'zod';

export const liveAnswer = z.strictObject({ status: z.literal('ok'), version: z.string() });
export type LiveAnswerBody = z.output<typeof liveAnswer>;

export const readyAnswer = z.strictObject({
  status: z.enum(['ready', 'unready']),
  /** One sentence each that an operator can act on; empty when ready. */
  problems: z.array(z.string()),
});
export type ReadyAnswerBody = z.output<typeof readyAnswer>;
