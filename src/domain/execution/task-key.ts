import type { TaskSlot } from './events.ts';

/** The wire ref of a task: its node's ref and one `__n` for each loop around it. Unique within a run. */
export type TaskKey = string;

const SUFFIX = /^(.+)__(\d+)$/;

export const keyOf = (slot: TaskSlot): TaskKey => (slot.iteration === 0 ? slot.ref : `${slot.ref}__${slot.iteration}`);

/** The key of a node in the given iterations of the loops around it, outermost first. */
export const keyAt = (ref: string, path: readonly number[]): TaskKey =>
  path.length === 0 ? ref : `${ref}__${path.join('__')}`;

/** The slot of a node in the given iterations: the innermost is the iteration, the outer ones stay in the ref. */
export const slotAt = (ref: string, path: readonly number[]): TaskSlot => {
  const iteration = path.at(-1);
  return iteration === undefined ? { ref, iteration: 0 } : { ref: keyAt(ref, path.slice(0, -1)), iteration };
};

/** The ref without its last loop suffix, and the number there; undefined when there is none. */
export const stripSuffix = (key: TaskKey): { ref: string; iteration: number } | undefined => {
  const match = SUFFIX.exec(key);
  return match?.[1] === undefined ? undefined : { ref: match[1], iteration: Number(match[2]) };
};
