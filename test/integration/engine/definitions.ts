import type { JsonObject } from '../../../src/domain/kernel/json.ts';

/** A step of the queue `name`. */
export const step = (name: string, ref: string, change: JsonObject = {}): JsonObject => ({
  name,
  taskReferenceName: ref,
  type: 'SIMPLE',
  ...change,
});

export const workflow = (name: string, tasks: readonly JsonObject[], change: JsonObject = {}): JsonObject => ({
  name,
  version: 1,
  tasks,
  ...change,
});

/** Steps `s1` to `sN`, one after the other, in one queue. */
export const chain = (name: string, length: number, queue = name, change: JsonObject = {}): JsonObject =>
  workflow(
    name,
    Array.from({ length }, (_, index) => step(queue, `s${index + 1}`, change)),
  );

/** Branches of equal length, all in one queue, joined. Refs are `b{branch}s{step}`. */
export const fanOut = (name: string, branches: number, stepsPerBranch: number, change: JsonObject = {}): JsonObject => {
  const refOf = (branch: number, at: number): string => `b${branch + 1}s${at + 1}`;
  const forkTasks = Array.from({ length: branches }, (_, branch) =>
    Array.from({ length: stepsPerBranch }, (_step, at) => step(name, refOf(branch, at), change)),
  );
  const joinOn = Array.from({ length: branches }, (_, branch) => refOf(branch, stepsPerBranch - 1));
  return workflow(name, [
    { name: 'fork', taskReferenceName: 'fork', type: 'FORK_JOIN', forkTasks },
    { name: 'join', taskReferenceName: 'join', type: 'JOIN', joinOn },
  ]);
};
