import type { JsonObject } from '../kernel/json.ts';

/** The variable that shows how far the undoing of a failed run is. */
export const COMPENSATION_VARIABLE = '__compensation';

/** Tasks that a reason names one by one at most. */
export const TASKS_TOLD_MAX = 100;

export type CompensationStatus = 'RUNNING' | 'COMPLETED' | 'FAILED';

const joined = (reasons: readonly (string | undefined)[]): string =>
  reasons.filter((reason) => reason !== undefined).join('; ');

export const withCompensation = (
  variables: JsonObject,
  status: CompensationStatus,
  reasons: readonly (string | undefined)[],
): JsonObject => {
  const reason = joined(reasons);
  return { ...variables, [COMPENSATION_VARIABLE]: { status, reason: reason === '' ? null : reason } };
};

const listed = (what: string, keys: readonly string[]): readonly string[] => {
  if (keys.length === 0) return [];
  const more = keys.length > TASKS_TOLD_MAX ? ` and ${keys.length - TASKS_TOLD_MAX} more` : '';
  return [`${what}: ${keys.slice(0, TASKS_TOLD_MAX).join(', ')}${more}`];
};

/** Why the run ended, why its undoing stopped where it did, and what was undone, in the order in which it was. */
export const reasonWithCompensation = (
  reasons: readonly (string | undefined)[],
  undone: readonly string[],
  left: readonly string[],
): string => joined([...reasons, ...listed('compensated', undone), ...listed('not compensated', left)]);
