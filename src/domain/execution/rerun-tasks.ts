import type { Instant } from '../kernel/brand.ts';
import { ok } from '../kernel/result.ts';
import { type Answer, askedBy, type RequestOf, reject } from './answer.ts';
import type { TasksRerun } from './events.ts';
import { lookAtAll } from './look-at-all.ts';
import { entryNamed } from './named-task.ts';
import { reopen } from './reopen.ts';
import { UNDONE } from './rerun.ts';
import { type ExecutionState, ownerEntry, type TaskEntry } from './state.ts';
import { takeBack } from './take-back.ts';
import { allBelow, takingBack, withdrawals } from './taking-back.ts';
import { withWhatFollows } from './what-follows.ts';

/** Tasks that one request may name. */
export const RERUN_TASKS_MAX = 1_000;

/** Named tasks of a paused or closed run run again, alone or with all that follows from them. */
export const acceptRerunTasks = (state: ExecutionState, request: RequestOf<'RerunTasks'>, at: Instant): Answer => {
  if (state.lifecycle.status === 'RUNNING') {
    return reject('INVALID_STATE', 'The execution is running; pause it before tasks of it run again.');
  }
  if (state.compensation !== undefined) return reject('INVALID_STATE', UNDONE);
  if (request.tasks.length === 0) return reject('VALIDATION_FAILED', 'tasks names no task.');
  if (request.tasks.length > RERUN_TASKS_MAX) {
    return reject('VALIDATION_FAILED', `At most ${RERUN_TASKS_MAX} tasks can be named at once.`);
  }
  const named: TaskEntry[] = [];
  for (const ref of request.tasks) {
    const entry = entryNamed(state, ref);
    if (!entry.ok) return entry;
    named.push(entry.value);
  }
  const isRunning = named.find((entry) =>
    [entry, ...allBelow(state, entry)].some(({ phase }) => phase.kind === 'attempt'),
  );
  if (isRunning !== undefined) {
    return reject('INVALID_STATE', `Task ${isRunning.key} is still open; cancel or skip what is open of it first.`);
  }
  return ok(factsOf(state, request, named, at));
};

const factsOf = (state: ExecutionState, request: RequestOf<'RerunTasks'>, named: readonly TaskEntry[], at: Instant) => {
  const { roots: all, read } = withWhatFollows(state, named, 'controlAndData');
  const alone = outermost(state, named);
  const roots = request.cascade ? all : alone;
  const stale = request.cascade ? [] : [...all].filter((entry) => !alone.has(entry)).map(({ key }) => key);
  return [
    ...withdrawals(state, roots, at),
    {
      type: 'TasksRerun' as const,
      at,
      ...askedBy(request),
      tasks: named.map(({ key }) => key),
      cascade: request.cascade,
      ...takingBack(state, roots, read),
      stale: stale.sort(),
    },
  ];
};

/** Without those that are part of another one. */
const outermost = (state: ExecutionState, entries: readonly TaskEntry[]): ReadonlySet<TaskEntry> => {
  const all = new Set(entries);
  const isPart = (entry: TaskEntry): boolean => {
    for (
      let at = ownerEntry(state, entry.node, entry.path);
      at !== undefined;
      at = ownerEntry(state, at.node, at.path)
    ) {
      if (all.has(at)) return true;
    }
    return false;
  };
  return new Set(entries.filter((entry) => !isPart(entry)));
};

export const tasksRerun = (state: ExecutionState, event: TasksRerun): void => {
  state.patched ||= !event.cascade;
  takeBack(state, event);
  if (state.lifecycle.status === 'PAUSED') lookAtAll(state);
  else reopen(state, event.at, false);
};
