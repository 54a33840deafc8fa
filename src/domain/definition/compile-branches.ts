import type { DynamicBranch } from '../execution/events.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { childPath } from '../kernel/value-path.ts';
import { compileSequence, newCompilation } from './compile-sequence.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import { PROBLEMS_MAX } from './limits.ts';
import type { DynamicForkNode, Plan, PlanNode, Sequence } from './plan.ts';

export type CompiledBranches = Readonly<{
  /** One a branch, in order. */
  sequences: readonly Sequence[];
  /** Every node of the branches, at any depth, by ref. */
  nodes: ReadonlyMap<string, PlanNode>;
}>;

/**
 * Compiles the branches that data gave a dynamic fork. Their nodes belong to the fork and stand in its loops; their
 * `inputParameters` are templates as everywhere, their `literalInput` is data. A worker's node has the policy it names
 * itself, or the default of the door: task definitions of names known at run time only come with the attempt.
 * Problems, with paths like `branches[0][1].taskReferenceName`: those of `compilePlan`, also for a ref that the definition
 * itself has, and INVALID_GRAPH for an empty branch.
 */
export const compileBranches = (
  fork: DynamicForkNode,
  branches: readonly DynamicBranch[],
  plan: Plan,
): Result<CompiledBranches, readonly DefinitionProblem[]> => {
  const compilation = newCompilation(plan.dialect, {}, plan.nodes.keys());
  const { nodes, problems } = compilation;
  const sequences = branches.map((branch, index) => {
    const path = childPath('branches', index);
    if (branch.length === 0) problems.push({ code: 'INVALID_GRAPH', message: 'a branch has no task', path });
    const owner = { kind: 'branch', node: fork.ref, index } as const;
    return compileSequence(branch, { path, owner, loops: fork.loops }, compilation);
  });
  return problems.length > 0 ? err(problems.slice(0, PROBLEMS_MAX)) : ok({ sequences, nodes });
};
