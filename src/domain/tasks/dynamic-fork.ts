import { compileBranches } from '../definition/compile-branches.ts';
import type { DynamicBranch } from '../execution/events.ts';
import { nodeInScope } from '../execution/state.ts';
import { dynamicTasks, problemText } from './dynamic-branches.ts';
import { type EnterContext, resolvedInput, type Step, type TaskSemantics } from './task-semantics.ts';

type Context = EnterContext<'FORK_JOIN_DYNAMIC'>;

/** What is wrong with branches that data asked for: refs twice, or refs that are taken. */
const problemOf = (context: Context, branches: readonly DynamicBranch[]): string | undefined => {
  const compiled = compileBranches(context.node, branches, context.state.plan);
  if (!compiled.ok) return problemText(compiled.error);
  for (const ref of compiled.value.nodes.keys()) {
    if (nodeInScope(context.state, ref, context.path) === undefined) continue;
    return `The ref ${ref} is taken by another dynamic fork.`;
  }
  return undefined;
};

const refuse = (reason: string): Step => ({ kind: 'refuse', input: {}, reason });

/** Starts as many branches as data asks for; the JOIN after it waits for all. */
export const dynamicFork: TaskSemantics<'FORK_JOIN_DYNAMIC'> = {
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const nodes = dynamicTasks(context, resolved.input);
    if (!nodes.ok) return refuse(nodes.error);
    const branches = nodes.value.map((node) => [node]);
    const problem = problemOf(context, branches);
    if (problem !== undefined) return refuse(problem);
    // The branches are in the fact themselves; the input would only say it again.
    return { kind: 'resolve', input: {}, output: { branches: branches.length }, effect: { branches } };
  },
};
