import type { LoopNode, Plan, PlanNode, Sequence } from '../definition/plan.ts';
import type { Instant } from '../kernel/brand.ts';
import type { JsonObject } from '../kernel/json.ts';
import { ok } from '../kernel/result.ts';
import { type Answer, askedBy, type RequestOf, reject } from './answer.ts';
import type { ExecutionUpgraded } from './events.ts';
import { lookAtAll } from './look-at-all.ts';
import { loopOf } from './loop-state.ts';
import { recount } from './recount.ts';
import { followDefinition, pinnedBy } from './restart.ts';
import { skipping } from './skip-task.ts';
import type { ExecutionState, TaskEntry, TaskPhase } from './state.ts';
import { keyAt } from './task-key.ts';
import { chosenIn, isBroughtIn, reasonsAgainst } from './upgrade-check.ts';

/** Moves an open run to another version of its definition, where every task that ran or runs is there as it was. */
export const acceptUpgrade = (state: ExecutionState, request: RequestOf<'Upgrade'>, at: Instant): Answer => {
  const { plan, taskOutputs } = request;
  if (state.compensation !== undefined) return reject('INVALID_STATE', 'The execution is being compensated.');
  if (plan.hash === state.plan.hash) return reject('INVALID_STATE', 'The execution follows that definition already.');
  const reasons = reasonsAgainst(state, plan);
  if (reasons.length > 0) {
    const message = `The execution cannot follow version ${plan.definition.version}: ${reasons[0]}`;
    return reject('INVALID_STATE', message, { reasons });
  }
  const passed = passedOver(state, plan);
  const unused = Object.keys(taskOutputs).find((ref) => !passed.some(({ node }) => node.ref === ref));
  if (unused !== undefined) {
    return reject('VALIDATION_FAILED', `taskOutput names ${unused}, which is no new task before one that has begun.`);
  }
  const input = request.input === undefined ? undefined : upgradedInput(state, plan, request.input);
  const reason = `The execution was past it when it was upgraded to version ${plan.definition.version}.`;
  return ok([
    {
      type: 'ExecutionUpgraded',
      at,
      ...askedBy(request),
      definition: pinnedBy(plan),
      variables: { ...plan.definition.variables, ...state.variables },
      ...(input === undefined ? {} : { input }),
    },
    ...passed.map(({ node, path }) =>
      skipping(node, path, { output: taskOutputs[node.ref] ?? {}, by: request.by, reason }, at),
    ),
  ]);
};

const upgradedInput = (state: ExecutionState, plan: Plan, input: JsonObject): JsonObject => ({
  ...plan.definition.inputTemplate,
  ...state.started?.input,
  ...input,
});

type Place = Readonly<{ node: PlanNode; path: readonly number[] }>;

/** New tasks that stand before others that have begun: the run is past them. */
const passedOver = (state: ExecutionState, plan: Plan): readonly Place[] => {
  const places: Place[] = [];
  const see = (sequence: Sequence, path: readonly number[]): void => {
    const begun = sequence.nodes.map((node) => state.tasks.get(keyAt(node.ref, path)));
    const last = begun.findLastIndex((entry) => entry !== undefined);
    for (const [index, node] of sequence.nodes.entries()) {
      const entry = begun[index];
      if (entry === undefined && index < last) places.push({ node, path });
      if (entry !== undefined) for (const [inner, at] of insideOf(entry, node)) see(inner, at);
    }
  };
  see(plan.root, []);
  return places;
};

/** The sequences of the new plan below an entry that go on in it. */
const insideOf = (entry: TaskEntry, node: PlanNode): readonly (readonly [Sequence, readonly number[]])[] => {
  const { phase, path } = entry;
  if (phase.kind === 'choice') {
    const chosen = chosenIn(entry, node);
    return chosen === undefined ? [] : [[chosen, path]];
  }
  if (phase.kind === 'fork' && node.type === 'FORK_JOIN') return node.branches.map((branch) => [branch, path] as const);
  const loop = loopOf(entry);
  return loop === undefined ? [] : [[(node as LoopNode).body, [...path, loop.iteration]]];
};

export const executionUpgraded = (state: ExecutionState, event: ExecutionUpgraded): void => {
  const former = state.plan;
  followDefinition(state, event.definition);
  if (state.started !== undefined && event.input !== undefined) {
    state.started = { ...state.started, input: event.input };
  }
  state.variables = event.variables;
  moveEntries(state, former);
  state.patched = true;
  recount(state);
  lookAtAll(state);
};

/** Entries keep what they know and stand for the nodes of the new plan. */
const moveEntries = (state: ExecutionState, former: Plan): void => {
  const moved = new Map<TaskEntry, TaskEntry>();
  const move = (entry: TaskEntry): TaskEntry => {
    const known = moved.get(entry);
    if (known !== undefined) return known;
    const node = isBroughtIn(former, entry.node) ? entry.node : state.plan.nodes.get(entry.node.ref);
    // Only what expressions could read of a task that is no longer in the plan.
    if (node === undefined) return entry;
    const before = entry.before === undefined ? undefined : move(entry.before);
    const copy: TaskEntry = { ...entry, node, before, phase: movedPhase(entry, node) };
    moved.set(entry, copy);
    return copy;
  };
  state.tasks = new Map([...state.tasks].map(([key, entry]) => [key, move(entry)]));
  state.latest = new Map([...state.latest].map(([ref, entry]) => [ref, move(entry)]));
};

const movedPhase = (entry: TaskEntry, node: PlanNode): TaskPhase => {
  const { phase } = entry;
  if (phase.kind === 'choice') {
    // Where its case is gone, the switch is of an iteration that is over, and only expressions still read of it.
    return { ...phase, chosen: chosenIn(entry, node) ?? phase.chosen };
  }
  return phase.kind === 'fork' && node.type === 'FORK_JOIN' ? { ...phase, branches: node.branches } : phase;
};
