import { familyOf, isCallType } from '../definition/task-types.ts';
import { canonicalJson } from '../kernel/canonical-json.ts';
import { isJsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { ASYNC_COMPLETE } from '../tasks/system.ts';
import type { WorkflowEvent } from './events.ts';
import { entryNamed } from './named-task.ts';
import { closing, closingAtHand, type Judging } from './outcome.ts';
import type { ExecutionRequest, Rejection } from './requests.ts';
import { type ExecutionState, isOpen, type TaskEntry } from './state.ts';

type Request = Extract<ExecutionRequest, { type: 'CompleteTask' }>;
type Answer = Result<readonly WorkflowEvent[], Rejection>;

const reject = (code: Rejection['code'], message: string): Answer => err({ code, message });

/**
 * Ends a task from outside: a person, a callback, another run. It has no lease token, so the lock of the run stands for
 * the fence; the same request again is answered like the first and changes nothing.
 */
export const completeTask = (state: ExecutionState, request: Request, judging: Judging): Answer => {
  const entry = attemptOf(state, request);
  if (entry !== undefined && isSaidAgain(entry, request)) return ok([]);
  if (!isOpen(state)) return reject('TERMINAL_STATE', `The execution has ended: ${state.lifecycle.status}.`);
  if (entry?.phase.kind !== 'attempt') return reject('INVALID_STATE', 'The task is not open.');
  if (!isOpenTo(entry, request)) {
    return reject('INVALID_STATE', `Tasks of type ${entry.node.type} are not ended from outside.`);
  }
  if (closingAtHand(state, entry, judging) !== undefined) {
    return reject('INVALID_STATE', `Task ${entry.key} has its outcome already: a signal or message came first.`);
  }
  const { ref, iteration, attempt } = entry.phase.scheduled;
  const { status, output, by: workerId, reason } = request;
  const outcome = { ref, iteration, attempt, status, output, workerId, startedAt: entry.scheduledAt };
  return ok([closing(state, entry, reason === undefined ? outcome : { ...outcome, reason }, judging)]);
};

const attemptOf = (state: ExecutionState, { scheduledSeq, ref }: Request): TaskEntry | undefined => {
  if (ref !== undefined) {
    const named = entryNamed(state, ref);
    return named.ok ? named.value : undefined;
  }
  for (const entry of state.tasks.values()) if (entry.seq === scheduledSeq) return entry;
  return undefined;
};

const isOpenTo = ({ node, input }: TaskEntry, { ofWorkersToo }: Request): boolean => {
  // A child goes on, and is what its parent hears of: it is ended itself.
  if (node.type === 'UNSUPPORTED' || node.type === 'SUB_WORKFLOW' || node.type === 'START_WORKFLOW') return false;
  const family = familyOf(node.type);
  return family === 'waiting' || (ofWorkersToo && family === 'worker') || isEndedByOthers(node, input);
};

/** A call that somebody else answers later: its answer may even come before the server that made it has written that down. */
const isEndedByOthers = ({ type }: TaskEntry['node'], input: JsonValue): boolean =>
  isCallType(type) && isJsonObject(input) && input[ASYNC_COMPLETE] === true;

const isSaidAgain = (entry: TaskEntry, { by, status, output }: Request): boolean =>
  entry.phase.kind === 'closed' &&
  entry.phase.by === 'outcome' &&
  entry.workerId === by &&
  entry.status === status &&
  canonicalJson(entry.output) === canonicalJson(output);
