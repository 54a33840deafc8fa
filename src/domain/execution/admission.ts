import type { Plan } from '../definition/plan.ts';
import { evaluateTemplate } from '../expression/evaluate.ts';
import { canonicalJson } from '../kernel/canonical-json.ts';
import type { JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import type { ExecutionStarted } from './events.ts';
import { applyEvent } from './evolve.ts';
import { modeOf, scopeAt } from './scope.ts';
import { type ExecutionState, emptyState } from './state.ts';

/** Characters of a resolved key of rateLimitConfig. */
export const RATE_LIMIT_KEY_CHARS_MAX = 1_024;

/**
 * `DEFINITION`: all runs of a name, which maxConcurrentExecutions caps. `KEY`: the runs of a name with one key, which
 * rateLimitConfig limits.
 */
export type GateKind = 'DEFINITION' | 'KEY';

/** One limit on runs that are going at a time, as it meets one run. */
export type Gate = Readonly<{
  kind: GateKind;
  /** Name of the definition. */
  name: string;
  /** The resolved key; empty for DEFINITION. */
  key: string;
  limit: number;
  /** Whether a run for which there is no place waits for one, or is refused. */
  waits: boolean;
}>;

/** Whether the end of the run frees a place: by its start, or by a definition that it was moved to. */
export const isGated = (state: ExecutionState): boolean =>
  state.started?.gated === true || state.plan.gates !== undefined;

/** The gates of a run, with its key resolved from its start alone. An error says why there is no key. */
export const gatesOf = (state: ExecutionState, started: ExecutionStarted): Result<readonly Gate[], string> => {
  const { gates, definition } = state.plan;
  if (gates === undefined) return ok([]);
  const { name } = definition;
  const found: Gate[] = [];
  if (gates.concurrentMax !== undefined) {
    found.push({ kind: 'DEFINITION', name, key: '', limit: gates.concurrentMax, waits: false });
  }
  if (gates.perKey !== undefined) {
    const key = keyOf(state.plan, state, started);
    if (!key.ok) return key;
    found.push({ kind: 'KEY', name, key: key.value, limit: gates.perKey.limit, waits: gates.perKey.waits });
  }
  return ok(found);
};

/** Of the start alone, so that a run that is reopened after its variables changed asks for the same place. */
const keyOf = (plan: Plan, { executionId }: ExecutionState, started: ExecutionStarted): Result<string, string> => {
  const template = plan.gates?.perKey?.key;
  if (template === undefined) return ok('');
  const state = emptyState(executionId, plan);
  applyEvent(state, started);
  const evaluated = evaluateTemplate(template, scopeAt(state), modeOf(state));
  if (!evaluated.ok) return err(`rateLimitKey: ${evaluated.error.message}`);
  const key = textOf(evaluated.value.value);
  return key.length > RATE_LIMIT_KEY_CHARS_MAX
    ? err(`rateLimitKey resolves to ${key.length} characters; at most ${RATE_LIMIT_KEY_CHARS_MAX} are allowed.`)
    : ok(key);
};

const textOf = (value: JsonValue): string => {
  if (typeof value === 'string') return value;
  return value === null ? '' : canonicalJson(value);
};
