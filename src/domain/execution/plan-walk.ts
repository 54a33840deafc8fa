import type { PlanNode, Sequence } from '../definition/plan.ts';

/** The sequences right below a node, bodies of loops included; branches of a dynamic fork are the data's. */
export const sequencesOf = (node: PlanNode): readonly Sequence[] => {
  switch (node.type) {
    case 'SWITCH':
    case 'DECISION':
      return [...node.cases.values(), node.fallback].filter((sequence) => sequence !== undefined);
    case 'FORK_JOIN':
      return node.branches;
    case 'DO_WHILE':
      return [node.body];
    default:
      return [];
  }
};

/** Visits every node of a sequence, at any depth. */
export const eachNode = (sequence: Sequence, see: (node: PlanNode) => void): void => {
  for (const node of sequence.nodes) {
    see(node);
    for (const inner of sequencesOf(node)) eachNode(inner, see);
  }
};
