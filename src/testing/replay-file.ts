import { z } from 'zod';
import type { SequencedEvent } from '../domain/execution/events.ts';
import { EVENT_ORIGINS } from '../domain/execution/replay.ts';
import type { JsonObject, JsonValue } from '../domain/kernel/json.ts';
import { replay } from './replay.ts';
import { SimulationError } from './simulate.ts';

/** What a history is replayed against: files with definitions, and the run where the history does not name it. */
export type ReplayFileOptions = Readonly<{
  definition: string;
  taskDefinitions: readonly string[];
  workflowId?: string | undefined;
}>;

/** With a `problem` it could not be replayed; else it is the same, or tells the first event that is not. */
export type ReplayFileReport = Readonly<
  { file: string; recorded: number } & (
    | { problem: string }
    | { same: true }
    | { same: false; difference: Readonly<{ seq: number; recorded: JsonObject; derived?: JsonObject }> }
  )
>;

type ReadFile = (path: string) => Promise<string>;

const instant = z.iso.datetime().transform((text) => Date.parse(text));
const wireEvent = z.looseObject({
  seq: z.int().min(1),
  type: z.string().refine((type) => Object.hasOwn(EVENT_ORIGINS, type), 'is no event that this version knows'),
  at: instant,
  visibleAt: instant.optional(),
  firstScheduledAt: instant.optional(),
  fireAt: instant.optional(),
  startedAt: instant.optional(),
  disposition: z.looseObject({ visibleAt: instant.optional() }).optional(),
});
const history = z.union([
  z.looseObject({ workflowId: z.string().optional(), events: z.array(wireEvent).min(1) }),
  z
    .array(wireEvent)
    .min(1)
    .transform((events) => ({ workflowId: undefined, events })),
]);

/** The names of the kernel, where a history shows others. */
const eventOf = ({ seq, taskRef, failedWorkflowId, parent, failureWorkflow, ...rest }: JsonObject): SequencedEvent => {
  const event = {
    ...rest,
    ...(taskRef === undefined ? {} : { ref: taskRef }),
    ...(failedWorkflowId === undefined ? {} : { failedExecutionId: failedWorkflowId }),
    ...(parent === undefined ? {} : { parent: runOf(parent as JsonObject) }),
    ...(failureWorkflow === undefined ? {} : { failureWorkflow: runOf(failureWorkflow as JsonObject) }),
  };
  return { seq: seq as number, event: event as unknown as SequencedEvent['event'] };
};

const runOf = ({ workflowId, taskRef, ...rest }: JsonObject): JsonObject => ({
  executionId: workflowId ?? null,
  ...(taskRef === undefined ? {} : { ref: taskRef }),
  ...rest,
});

const readJson = async (readFile: ReadFile, path: string): Promise<JsonValue> => {
  try {
    return JSON.parse(await readFile(path)) as JsonValue;
  } catch (error) {
    throw new SimulationError(path, {
      code: 'INVALID',
      message: error instanceof Error ? error.message : 'unreadable',
    });
  }
};

/**
 * Replays the history of a run, as `rondo history --json` and the API tell it, against a definition; without a server and
 * without carrying anything out.
 */
export const replayFile = async (
  file: string,
  { definition, taskDefinitions, workflowId }: ReplayFileOptions,
  readFile: ReadFile,
): Promise<ReplayFileReport> => {
  try {
    const parsed = history.safeParse(await readJson(readFile, file));
    if (!parsed.success) return { file, recorded: 0, problem: `It holds no history: ${z.prettifyError(parsed.error)}` };
    const id = workflowId ?? parsed.data.workflowId;
    const log = parsed.data.events.map((event) => eventOf(event as unknown as JsonObject));
    const recorded = log.length;
    if (id === undefined) return { file, recorded, problem: 'It names no run; tell its id.' };
    const documents = await Promise.all(taskDefinitions.map((path) => readJson(readFile, path)));
    const replayed = await replay(log, (await readJson(readFile, definition)) as JsonObject, {
      workflowId: id,
      taskDefs: documents.flat() as readonly JsonObject[],
    });
    if (replayed.ok) return { file, recorded, same: true };
    const { seq, recorded: stored, derived } = replayed;
    const difference = {
      seq,
      recorded: stored as unknown as JsonObject,
      ...(derived === undefined ? {} : { derived: derived as unknown as JsonObject }),
    };
    return { file, recorded, same: false, difference };
  } catch (error) {
    if (error instanceof SimulationError) return { file, recorded: 0, problem: error.message };
    throw error;
  }
};
