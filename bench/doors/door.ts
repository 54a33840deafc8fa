import type { JsonObject } from '../../src/domain/kernel/json.ts';
import type { BenchDatabase } from '../database.ts';
import type { TaskClock } from '../task-clock.ts';

/** The queue that every worker of the bench serves. */
export const QUEUE = 'step';

/** Ends the workers when they have nothing in hand. */
export type StopWorkers = () => Promise<void>;

export type OpenDoor = Readonly<{
  register(definition: JsonObject): Promise<void>;
  start(name: string, input: JsonObject): Promise<void>;
  work(clock: TaskClock): Promise<StopWorkers>;
  /** The process of the engine: of this bench itself where it runs in it. */
  pid: number;
  close(): Promise<void>;
}>;

/** A way to use Rondo. */
export type Door = Readonly<{
  name: string;
  /** Starts that are under way at a time where as many runs as possible are wanted. */
  startWidth: number;
  open(database: BenchDatabase): Promise<OpenDoor>;
}>;

/** What every task answers: the payload it was given, where there is one. */
export const outputOf = (input: unknown): JsonObject => {
  const { payload } = (input ?? {}) as JsonObject;
  return payload === undefined ? { ok: true } : { ok: true, payload };
};
