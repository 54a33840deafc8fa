import type { CachePlan, PlanNode } from '../definition/plan.ts';
import { evaluateTemplate } from '../expression/evaluate.ts';
import { scopeOf } from '../expression/scope.ts';
import { addMs, type Instant } from '../kernel/brand.ts';
import { isJsonObject, type JsonValue } from '../kernel/json.ts';
import { modeOf } from './scope.ts';
import type { ExecutionState } from './state.ts';

/** Whose output a run may take from another: tasks of one name whose key is the same. */
export type OutputKey = Readonly<{ taskName: string; key: string }>;

/** Characters of a cache key; a task whose key is longer is not cached. */
export const CACHE_KEY_CHARS_MAX = 10_000;

/** The key of a task by its own inputs; undefined: its output is not cached. */
export const outputKeyOf = (
  state: ExecutionState,
  { cache }: Pick<PlanNode, 'cache'>,
  taskName: string,
  input: JsonValue,
): OutputKey | undefined => {
  if (cache === undefined || !isJsonObject(input)) return undefined;
  const result = evaluateTemplate(cache.key, scopeOf(input), modeOf(state));
  if (!result.ok) return undefined;
  const { value } = result.value;
  const key = typeof value === 'string' ? value : JSON.stringify(value);
  return key.length > CACHE_KEY_CHARS_MAX ? undefined : { taskName, key };
};

export const expiryOf = ({ ttlMs }: CachePlan, now: Instant): Instant => addMs(now, ttlMs);
