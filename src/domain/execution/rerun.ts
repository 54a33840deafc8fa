import type { Instant } from '../kernel/brand.ts';
import { ok } from '../kernel/result.ts';
import { type Answer, askedBy, type RequestOf, reject } from './answer.ts';
import type { ExecutionRerun } from './events.ts';
import { type NamedTask, taskNamed } from './named-task.ts';
import { reopen } from './reopen.ts';
import { beginAgain } from './restart.ts';
import { type ExecutionState, isOpen, type TaskEntry } from './state.ts';
import { takeBack } from './take-back.ts';
import { takingBack } from './taking-back.ts';
import { withWhatFollows } from './what-follows.ts';

/** Why nothing of a run goes on by itself. */
export const UNDONE = 'The execution was compensated; it can only begin again as a whole.';

/** A task of a closed run and all that follows from it, by order or by data, run again; or the whole run does. */
export const acceptRerun = (state: ExecutionState, request: RequestOf<'Rerun'>, at: Instant): Answer => {
  if (isOpen(state)) return reject('INVALID_STATE', 'Only an execution that has ended can run again.');
  const { from, taskInput, correlationId } = request;
  const given = {
    ...(request.input === undefined ? {} : { input: { ...state.plan.definition.inputTemplate, ...request.input } }),
    ...(correlationId === undefined ? {} : { correlationId }),
  };
  if (from === undefined) {
    if (taskInput !== undefined) return reject('VALIDATION_FAILED', 'taskInput needs the task that it is for.');
    const { variables } = state.plan.definition;
    return ok([{ type: 'ExecutionRerun', at, ...askedBy(request), resets: [], ...given, variables }]);
  }
  if (state.compensation !== undefined) return reject('INVALID_STATE', UNDONE);
  const named = taskNamed(state, from);
  if (!named.ok) return named;
  const { value } = named;
  const key = value.kind === 'entry' ? value.entry.key : value.key;
  return ok([
    {
      type: 'ExecutionRerun',
      at,
      ...askedBy(request),
      from: key,
      ...takenBackFrom(state, value),
      ...(taskInput === undefined ? {} : { taskInput }),
      ...given,
    },
  ]);
};

const takenBackFrom = (state: ExecutionState, named: NamedTask) => {
  // A task that ended the run by itself would not stop what comes after it a second time.
  const enders = [...state.tasks.values()].filter(({ node }) => node.type === 'TERMINATE');
  if (named.kind === 'entry') {
    const { roots, read } = withWhatFollows(state, [named.entry, ...enders], 'controlAndData');
    return takingBack(state, roots, read);
  }
  const { roots, read } = withWhatFollows(state, [named.loop, ...enders], 'controlAndData');
  return takingBack(state, without(roots, named.loop), read, named);
};

const without = (entries: ReadonlySet<TaskEntry>, one: TaskEntry): ReadonlySet<TaskEntry> =>
  new Set([...entries].filter((entry) => entry !== one));

export const executionRerun = (state: ExecutionState, event: ExecutionRerun): void => {
  const { from, taskInput, input, correlationId } = event;
  if (state.started !== undefined) {
    state.started = {
      ...state.started,
      ...(input === undefined ? {} : { input }),
      ...(correlationId === undefined ? {} : { correlationId }),
    };
  }
  if (from === undefined) return beginAgain(state, event.at, event.variables ?? {});
  takeBack(state, event);
  if (taskInput !== undefined) state.givenInputs.set(from, taskInput);
  reopen(state, event.at, false);
};
