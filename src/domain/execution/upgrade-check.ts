import type { Plan, PlanNode, Sequence, SequenceOwner } from '../definition/plan.ts';
import type { ExecutionState, TaskEntry } from './state.ts';

/** Reasons told of one upgrade at most; the others would say the same. */
export const UPGRADE_REASONS_MAX = 100;

/** Why a run cannot follow another plan from where it is; empty when it can. */
export const reasonsAgainst = (state: ExecutionState, plan: Plan): readonly string[] => {
  const reasons = new Set<string>();
  for (const entry of state.tasks.values()) {
    if (reasons.size >= UPGRADE_REASONS_MAX) break;
    const reason = isBroughtIn(state.plan, entry.node) ? takenRef(plan, entry.node) : reasonOf(state, plan, entry);
    if (reason !== undefined) reasons.add(reason);
  }
  for (const reason of orderReasons(state, plan)) if (reasons.size < UPGRADE_REASONS_MAX) reasons.add(reason);
  return [...reasons];
};

/** Data brought it in: it is in no plan. */
export const isBroughtIn = (plan: Plan, node: PlanNode): boolean => plan.nodes.get(node.ref) !== node;

const takenRef = (plan: Plan, node: PlanNode): string | undefined =>
  plan.nodes.has(node.ref) ? `Task ${node.ref} was brought in by data and is a task of the definition now.` : undefined;

const reasonOf = (state: ExecutionState, plan: Plan, entry: TaskEntry): string | undefined => {
  const { node } = entry;
  const next = plan.nodes.get(node.ref);
  if (next === undefined) return `Task ${node.ref} has begun and is gone.`;
  if (next.type !== node.type) return `Task ${node.ref} has begun as ${node.type} and is ${next.type} now.`;
  if (!isSamePlace(state.plan, plan, node, next)) return `Task ${node.ref} has begun and stands in another place now.`;
  if (entry.phase.kind === 'choice' && chosenIn(entry, next) === undefined) {
    return `The case that ${entry.key} chose is gone or empty.`;
  }
  if (
    entry.phase.kind === 'fork' &&
    next.type === 'FORK_JOIN' &&
    entry.phase.branches.length !== next.branches.length
  ) {
    return `Fork ${node.ref} has begun with ${entry.phase.branches.length} branches and has ${next.branches.length} now.`;
  }
  return undefined;
};

const isSamePlace = (former: Plan, plan: Plan, node: PlanNode, next: PlanNode): boolean =>
  node.loops.join() === next.loops.join() && placeText(former, node.sequence) === placeText(plan, next.sequence);

const placeText = (plan: Plan, sequence: Sequence): string => {
  const { owner } = sequence;
  return `${ownerText(owner)}/${owner.kind === 'case' ? labelOf(plan.nodes.get(owner.node), sequence) : ''}`;
};

const ownerText = (owner: SequenceOwner): string => {
  if (owner.kind === 'root') return owner.kind;
  return owner.kind === 'branch' ? `${owner.kind} ${owner.index} ${owner.node}` : `${owner.kind} ${owner.node}`;
};

/** Of which case of a switch a sequence is; its default has the empty list of labels. */
const labelOf = (node: PlanNode | undefined, sequence: Sequence): string => {
  if (node?.type !== 'SWITCH' && node?.type !== 'DECISION') return '';
  const label = [...node.cases].find(([, one]) => one === sequence)?.[0];
  return JSON.stringify(label === undefined ? [] : [label]);
};

/** The sequence of another plan's node that stands for the one that a switch chose. */
export const chosenIn = (entry: TaskEntry, next: PlanNode): Sequence | undefined => {
  const { phase, node } = entry;
  const isSwitch = node.type === 'SWITCH' || node.type === 'DECISION';
  if (phase.kind !== 'choice' || !isSwitch || (next.type !== 'SWITCH' && next.type !== 'DECISION')) return undefined;
  const label = [...node.cases].find(([, one]) => one === phase.chosen)?.[0];
  return label === undefined ? next.fallback : next.cases.get(label);
};

/** Tasks that have begun must follow one another as they did. */
const orderReasons = (state: ExecutionState, plan: Plan): readonly string[] => {
  const lastOf = new Map<Sequence, PlanNode>();
  const begun = [...new Set([...state.tasks.values()].map(({ node }) => node))]
    .filter((node) => !isBroughtIn(state.plan, node))
    .sort((a, b) => a.index - b.index);
  return begun.flatMap((node) => {
    const next = plan.nodes.get(node.ref);
    const before = lastOf.get(node.sequence);
    if (next !== undefined) lastOf.set(node.sequence, next);
    if (next === undefined || before === undefined || before.index < next.index) return [];
    return [`Task ${node.ref} came after ${before.ref} and comes before it now.`];
  });
};
