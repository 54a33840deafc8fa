import { z } from 'zod';
import type { WakeTopic } from '../../ports/wake-signal.ts';

/** The server takes less than 8000. */
const PAYLOAD_BYTES_MAX = 7_500;
/** More topics than this at once are told as "everything". */
export const HINT_TOPICS_MAX = 500;

const payloadShape = z.object({ from: z.string(), topics: z.array(z.string()), all: z.boolean().exactOptional() });

export type HintPayload = Readonly<{ from: string; topics: readonly WakeTopic[]; all?: boolean }>;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Splits topics into payloads that NOTIFY takes. */
export const payloadsOf = (from: string, topics: readonly WakeTopic[]): readonly string[] => {
  const overhead = bytesOf({ from, topics: [] });
  const isTooMuch =
    topics.length > HINT_TOPICS_MAX || topics.some((topic) => overhead + bytesOf(topic) > PAYLOAD_BYTES_MAX);
  if (isTooMuch) return [JSON.stringify({ from, topics: [], all: true })];
  const groups: WakeTopic[][] = [];
  let bytes = PAYLOAD_BYTES_MAX;
  for (const topic of topics) {
    bytes += bytesOf(topic) + 1;
    if (bytes > PAYLOAD_BYTES_MAX) {
      groups.push([]);
      bytes = overhead + bytesOf(topic);
    }
    groups.at(-1)?.push(topic);
  }
  return groups.map((group) => JSON.stringify({ from, topics: group }));
};

/** Reads what another process sent; undefined when it is not a hint, which then means nothing. */
export const parsePayload = (text: string): HintPayload | undefined => {
  try {
    const parsed = payloadShape.safeParse(JSON.parse(text));
    return parsed.success ? (parsed.data as HintPayload) : undefined;
  } catch {
    return undefined;
  }
};
