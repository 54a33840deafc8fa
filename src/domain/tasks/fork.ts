import { resolvedInput, type TaskSemantics } from './task-semantics.ts';

/** Starts all branches at once; the JOIN after it waits. */
export const fork: TaskSemantics<'FORK_JOIN'> = {
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    return resolved.ok ? { kind: 'resolve', input: resolved.input, output: {} } : resolved.step;
  },
};
