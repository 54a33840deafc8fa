import { EVERY_NAME, environmentNamesIn } from '../definition/environment-names.ts';
import type { Instant } from '../kernel/brand.ts';
import type { DecisionEnvironment } from '../tasks/task-semantics.ts';
import type { DynamicBranch, EnvironmentRead } from './events.ts';
import type { Need } from './needs.ts';
import type { ExecutionState } from './state.ts';

const namesRead = ({ plan, dynamicEnvironment }: ExecutionState): readonly string[] => {
  if (dynamicEnvironment.size === 0) return plan.environment;
  const names = new Set([...plan.environment, ...dynamicEnvironment]);
  return names.has(EVERY_NAME) ? [EVERY_NAME] : [...names].sort();
};

/**
 * What the run has to know anew of its environment before another fact can be made: values are read when a task is
 * scheduled, and are a fact themselves wherever they are not what they were, so that a replay asks nobody.
 */
export const environmentNews = (
  state: ExecutionState,
  { environmentValues }: Pick<DecisionEnvironment, 'environmentValues'>,
  now: Instant,
): EnvironmentRead | Need | undefined => {
  const names = namesRead(state);
  if (names.length === 0) return undefined;
  const current = environmentValues(names);
  if (current === undefined) return { type: 'needsEnvironment', names };
  const asked = names[0] === EVERY_NAME ? [...Object.keys(current), ...state.environment.keys()] : names;
  const values: Record<string, string | null> = {};
  for (const name of [...new Set(asked)].sort()) {
    const value = Object.hasOwn(current, name) ? (current[name] ?? null) : null;
    if (value !== (state.environment.get(name) ?? null)) values[name] = value;
  }
  return Object.keys(values).length === 0 ? undefined : { type: 'EnvironmentRead', at: now, values };
};

export const environmentRead = (state: ExecutionState, { values }: EnvironmentRead): void => {
  for (const [name, value] of Object.entries(values)) {
    if (value === null) state.environment.delete(name);
    else state.environment.set(name, value);
  }
};

/** Steps that data brought may read what the definition itself does not. */
export const environmentOfBranches = (state: ExecutionState, branches: readonly DynamicBranch[]): void => {
  for (const name of environmentNamesIn(branches)) state.dynamicEnvironment.add(name);
};
