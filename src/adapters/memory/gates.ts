import type { TaskDefinition } from '../../domain/definition/task-definition.ts';
import { addMs, type Instant, type Namespace } from '../../domain/kernel/brand.ts';
import type { TaskGates } from '../../ports/limits.ts';
import { optional } from './optional.ts';
import { inNamespace, type OpenTask } from './rows.ts';
import type { MemoryState } from './state.ts';

const MS_PER_SECOND = 1_000;

/** When to look again at what is held back until somebody gives a place or a permit back: nothing tells of that. */
const HELD_BACK_LOOK_MS = 200;

const definitionOf = (state: MemoryState, { namespace, task }: OpenTask): TaskDefinition | undefined =>
  state.taskDefinitions.get(inNamespace(namespace, task.taskName))?.definition;

/** Whether a lease of this task has to look at a limit. */
export const isGated = (state: MemoryState, row: OpenTask): boolean => {
  const { concurrentExecLimit = 0, rateLimit, semaphores = [] } = definitionOf(state, row) ?? {};
  return concurrentExecLimit > 0 || rateLimit !== undefined || semaphores.length > 0;
};

/** Leases of a namespace that hold a permit of the semaphore. */
export const heldPermits = (state: MemoryState, namespace: Namespace, name: string): number => {
  let held = 0;
  for (const row of state.tables.openTasks.withPermits.in(namespace)) if (row.lease?.permits.includes(name)) held += 1;
  return held;
};

/** Leases of the window that is open now; none when the last one has closed. */
export const windowOf = (state: MemoryState, namespace: Namespace, taskName: string) => {
  const row = state.tables.rateWindows.get(inNamespace(namespace, taskName));
  return row === undefined || row.closesAt <= state.now() ? undefined : row;
};

/** Milliseconds after which to look again at a task that a limit holds back; undefined: nothing does. */
export const heldBackMs = (state: MemoryState, row: OpenTask): number | undefined => {
  const definition = definitionOf(state, row);
  if (definition === undefined) return undefined;
  const { concurrentExecLimit, rateLimit, semaphores = [] } = definition;
  const leased = state.tables.openTasks.leasedByName.count(inNamespace(row.namespace, row.task.taskName));
  if (concurrentExecLimit > 0 && leased >= concurrentExecLimit) return HELD_BACK_LOOK_MS;
  const isTaken = (name: string): boolean => {
    const permits = state.tables.semaphores.get(inNamespace(row.namespace, name))?.permits;
    return permits !== undefined && heldPermits(state, row.namespace, name) >= permits;
  };
  if (semaphores.some(isTaken)) return HELD_BACK_LOOK_MS;
  const window = rateLimit === undefined ? undefined : windowOf(state, row.namespace, row.task.taskName);
  if (rateLimit === undefined || window === undefined || window.used < rateLimit.leases) return undefined;
  return window.closesAt - state.now();
};

/** The limits of a name, with what is taken of them now; undefined: it has none. */
export const taskGatesOf = (state: MemoryState, namespace: Namespace, taskName: string): TaskGates | undefined => {
  const definition = state.taskDefinitions.get(inNamespace(namespace, taskName))?.definition;
  if (definition === undefined) return undefined;
  const { concurrentExecLimit: limit, rateLimit, semaphores: names = [] } = definition;
  if (limit === 0 && rateLimit === undefined && names.length === 0) return undefined;
  const leased = state.tables.openTasks.leasedByName.count(inNamespace(namespace, taskName));
  const window = windowOf(state, namespace, taskName);
  const semaphores = names.flatMap((name) => {
    const permits = state.tables.semaphores.get(inNamespace(namespace, name))?.permits;
    return permits === undefined ? [] : { name, permits, held: heldPermits(state, namespace, name) };
  });
  return {
    taskName,
    semaphores,
    ...optional('concurrency', limit === 0 ? undefined : { limit, leased }),
    ...optional(
      'rate',
      rateLimit && { limit: rateLimit.leases, used: window?.used ?? 0, ...optional('opensAt', window?.closesAt) },
    ),
  };
};

/** The semaphores of which a lease of this task holds a permit, whether or not they are set up. */
export const permitsOf = (state: MemoryState, row: OpenTask): readonly string[] =>
  definitionOf(state, row)?.semaphores ?? [];

/** Counts a lease in the window of now. */
export const countLease = (state: MemoryState, row: OpenTask, now: Instant): void => {
  const { rateLimit } = definitionOf(state, row) ?? {};
  if (rateLimit === undefined) return;
  const { namespace } = row;
  const { taskName } = row.task;
  const open = windowOf(state, namespace, taskName);
  const lengthMs = rateLimit.windowSeconds * MS_PER_SECOND;
  const closesAt = open?.closesAt ?? addMs(now, lengthMs - (now % lengthMs));
  state.tables.rateWindows.put({ namespace, taskName, closesAt, used: (open?.used ?? 0) + 1 });
};
