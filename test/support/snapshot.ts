import type { Sequence } from '../../src/domain/definition/plan.ts';
import type { ExecutionState, TaskEntry, TaskPhase } from '../../src/domain/execution/state.ts';
import { canonicalJson } from '../../src/domain/kernel/canonical-json.ts';
import type { JsonValue } from '../../src/domain/kernel/json.ts';

const sequenceText = (sequence: Sequence): string => sequence.nodes.map(({ ref }) => ref).join(',');

const plain = (value: unknown): JsonValue => {
  if (value === undefined) return null;
  if (value instanceof Set) return [...value].map(String).sort();
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [String(key), plain(item)]));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
  }
  return value as JsonValue;
};

const phaseOf = (phase: TaskPhase): unknown => {
  switch (phase.kind) {
    case 'choice':
      return { ...phase, chosen: sequenceText(phase.chosen) };
    case 'fork':
      return { ...phase, uncountedFrom: undefined, branches: phase.branches.map(sequenceText) };
    case 'join':
      return { ...phase, watched: new Map([...phase.watched].map(([key, of]) => [key, of.map((one) => one.key)])) };
    default:
      return phase;
  }
};

const entryOf = (entry: TaskEntry): JsonValue =>
  plain({ ...entry, node: entry.node.ref, phase: phaseOf(entry.phase), before: entry.before?.key });

/** A state as one text: equal for states that mean the same, in whatever order they came to it; hints are left out. */
export const snapshot = (state: ExecutionState): string => {
  const { plan, plans: _plans, due: _due, held: _held, tasks, latest, dynamicNodes, compensable, ...rest } = state;
  return canonicalJson({
    ...(plain(rest) as Record<string, JsonValue>),
    plan: plan.hash,
    tasks: Object.fromEntries([...tasks].map(([key, entry]) => [key, entryOf(entry)])),
    latest: Object.fromEntries([...latest].map(([ref, entry]) => [ref, entryOf(entry)])),
    compensable: compensable.map(entryOf),
    dynamicNodes: [...dynamicNodes.keys()].sort(),
  });
};

/** Nothing that is frozen can be changed behind the back of those who hold it. */
export const deepFreeze = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  if (value instanceof Map) for (const item of value.values()) deepFreeze(item);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
};
