import type { JsonObject, JsonValue } from '../../domain/kernel/json.ts';
import type { Finished } from '../tasks-of-other-runs.ts';

/**
 * What became of a call: it is over; it goes on later, holding nothing meanwhile; it is somebody else's to end; or nobody
 * wants to know any more, and the attempt goes back to the queue as if it had not been taken.
 */
export type CallResult =
  | Readonly<{ kind: 'finished'; finished: Finished }>
  | Readonly<{ kind: 'later'; delayMs: number; progress: JsonValue }>
  | Readonly<{ kind: 'leftOpen'; progress: JsonValue }>
  | Readonly<{ kind: 'givenUp' }>;

export const GIVEN_UP: CallResult = { kind: 'givenUp' };

export const completed = (output: JsonObject): CallResult => ({
  kind: 'finished',
  finished: { status: 'COMPLETED', output },
});

/** Another attempt may go better. */
export const failed = (reason: string, output: JsonObject = {}): CallResult => ({
  kind: 'finished',
  finished: { status: 'FAILED', output, reason },
});

/** Another attempt would fail the same way. */
export const failedForGood = (reason: string, output: JsonObject = {}): CallResult => ({
  kind: 'finished',
  finished: { status: 'FAILED_WITH_TERMINAL_ERROR', output, reason },
});
