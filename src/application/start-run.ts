import type { Plan } from '../domain/definition/plan.ts';
import { applyAccepted } from '../domain/execution/decide.ts';
import type { ExecutionStarted, ParentLink } from '../domain/execution/events.ts';
import { type ExecutionState, emptyState } from '../domain/execution/state.ts';
import type { ExecutionId, Instant, Namespace } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { EngineTx, NewExecution } from '../ports/engine-store.ts';
import type { SchemaValidator } from '../ports/schema-validator.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { ApplicationError } from './application-error.ts';
import { type DecisionDeps, decideExecution } from './decide-execution.ts';
import type { DelayedWakes } from './delayed-wakes.ts';
import type { FoldCache } from './fold-cache.ts';
import type { AfterCommit } from './message-handler.ts';
import { OwedWork } from './owed.ts';

/** A start that was checked: nothing about it can be refused any more but its idempotency key. */
export type ReadyStart = Readonly<{
  namespace: Namespace;
  executionId: ExecutionId;
  plan: Plan;
  /** With the definition's inputTemplate under it. */
  input: JsonObject;
  priority: number;
  correlationId: string | undefined;
  taskToDomain: Readonly<Record<string, string>> | undefined;
  idempotencyKey: string | undefined;
  /** Of a child: the attempt that waits for it, and how many runs are above it. */
  parent: ParentLink | undefined;
  depth: number;
  failedExecutionId: ExecutionId | undefined;
}>;

export type BeginDeps = DecisionDeps & Readonly<{ cache: FoldCache; wake: WakeSignal; delayed: DelayedWakes }>;

export type BegunRuns = Readonly<{
  states: ReadonlyMap<ExecutionId, ExecutionState>;
  announce: AfterCommit;
}>;

/** The input of a run: what was given over the definition's template. Errors: INPUT_SCHEMA_VIOLATION. */
export const startInput = (
  schemas: SchemaValidator,
  plan: Plan,
  given: JsonObject,
): Result<JsonObject, ApplicationError> => {
  const input = { ...plan.definition.inputTemplate, ...given };
  const schema = plan.schemas?.input;
  const violation = schema === undefined ? undefined : schemas.firstViolation(schema, input);
  if (violation === undefined) return ok(input);
  return err({ code: 'INPUT_SCHEMA_VIOLATION', message: violation.message, path: `input${violation.path}` });
};

export const noDefinition = (name: string, version: number | undefined): ApplicationError => ({
  code: 'NOT_FOUND',
  message: `There is no workflow definition ${name}${version === undefined ? '' : ` version ${version}`}.`,
});

/** Puts runs on record inside the given transaction: each with its first facts and tasks, without a pass of its own. */
export const beginRuns = async (
  deps: BeginDeps,
  tx: EngineTx,
  starts: readonly ReadyStart[],
  now: Instant,
): Promise<BegunRuns> => {
  const owed = new OwedWork();
  const states = new Map<ExecutionId, ExecutionState>();
  for (const start of starts) states.set(start.executionId, await decideFirst(deps, tx, start, now, owed));
  if (starts.length > 0) await tx.createExecutions(starts.map((start) => newExecution(start, now)));
  await owed.write(tx);
  const announce: AfterCommit = () => {
    for (const state of states.values()) if (state.lifecycle.status === 'RUNNING') deps.cache.put(state);
    deps.wake.publish(owed.topics());
    deps.delayed.schedule(owed.laterTopics(now), now);
  };
  return { states, announce };
};

const decideFirst = async (
  deps: DecisionDeps,
  tx: EngineTx,
  start: ReadyStart,
  now: Instant,
  owed: OwedWork,
): Promise<ExecutionState> => {
  const state = emptyState(start.executionId, start.plan);
  const first = applyAccepted(state, [startedEvent(start, now)]);
  owed.add(start.namespace, start.executionId, first.events, first.commands);
  const decided = await decideExecution(deps, tx, start.namespace, state, [], now);
  owed.add(start.namespace, start.executionId, decided.events, decided.commands);
  if (decided.more) owed.addPass(start.executionId);
  return state;
};

const startedEvent = (start: ReadyStart, at: Instant): ExecutionStarted => {
  const { definition, hash } = start.plan;
  return {
    type: 'ExecutionStarted',
    at,
    namespace: start.namespace,
    definitionHash: hash,
    name: definition.name,
    version: definition.version,
    input: start.input,
    variables: definition.variables,
    priority: start.priority,
    ...(start.correlationId === undefined ? {} : { correlationId: start.correlationId }),
    ...(start.taskToDomain === undefined ? {} : { taskToDomain: start.taskToDomain }),
    ...(start.parent === undefined ? {} : { parent: start.parent, depth: start.depth }),
    ...(start.failedExecutionId === undefined ? {} : { failedExecutionId: start.failedExecutionId }),
  };
};

const newExecution = (start: ReadyStart, startedAt: Instant): NewExecution => {
  const { definition, hash } = start.plan;
  const { correlationId, idempotencyKey, priority, parent } = start;
  return {
    executionId: start.executionId,
    namespace: start.namespace,
    definitionHash: hash,
    name: definition.name,
    version: definition.version,
    input: start.input,
    priority,
    startedAt,
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(parent === undefined ? {} : { parentExecutionId: parent.executionId }),
  };
};
