import type { Plan } from '../domain/definition/plan.ts';
import { type Gate, gatesOf } from '../domain/execution/admission.ts';
import type { Admission } from '../domain/execution/admit.ts';
import { applyAccepted } from '../domain/execution/decide.ts';
import { type ExecutionStarted, type ParentLink, SEMANTICS, type WorkflowEvent } from '../domain/execution/events.ts';
import { type ExecutionState, emptyState } from '../domain/execution/state.ts';
import type { ExecutionId, Instant, Namespace } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { DecisionReads, EngineTx, NewExecution } from '../ports/engine-store.ts';
import type { SchemaValidator } from '../ports/schema-validator.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { ApplicationError } from './application-error.ts';
import { type DecisionDeps, decideExecution } from './decide-execution.ts';
import type { DelayedWakes } from './delayed-wakes.ts';
import { exceededError } from './exceeded-limit.ts';
import type { FoldCache } from './fold-cache.ts';
import type { AfterCommit } from './message-handler.ts';
import { OwedWork } from './owed.ts';
import { RetryTally } from './retry-tally.ts';

/** A start that was checked: only its idempotency key, and limits on runs, can still refuse it. */
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
  /** Starts by events that led here; absent: none. */
  eventDepth?: number;
  failedExecutionId: ExecutionId | undefined;
  /** The run that this one repeats. */
  copyOf: ExecutionId | undefined;
  /** Who asked for it, where the door tells. */
  createdBy: string | undefined;
}>;

export type BeginDeps = DecisionDeps & Readonly<{ cache: FoldCache; wake: WakeSignal; delayed: DelayedWakes }>;

/** When runs begin, and in which namespaces a quota limits them. */
export type StartContext = Readonly<{ now: Instant; limited: ReadonlySet<Namespace> }>;

export type BegunRuns = Readonly<{
  states: ReadonlyMap<ExecutionId, ExecutionState>;
  /** Starts that a limit on runs refused: nothing of them is on record. */
  refused: ReadonlyMap<ExecutionId, ApplicationError>;
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

/** A start on its way through the limits, with the state that it will begin in. */
export type Entrant = Readonly<{
  start: ReadyStart;
  state: ExecutionState;
  started: ExecutionStarted;
  gates: readonly Gate[];
}>;

/** Puts runs on record inside the given transaction: each with its first facts and tasks, without a pass of its own. */
export const beginRuns = async (
  deps: BeginDeps,
  tx: EngineTx,
  starts: readonly ReadyStart[],
  context: StartContext,
): Promise<BegunRuns> => {
  const { now } = context;
  const refused = new Map<ExecutionId, ApplicationError>();
  const entrants: Entrant[] = [];
  for (const start of starts) {
    const entrant = entrantOf(start, now);
    if (entrant.ok) entrants.push(entrant.value);
    else refused.set(start.executionId, entrant.error);
  }
  const admissions = await admitAll(tx, entrants, context);
  const owed = new OwedWork();
  const states = new Map<ExecutionId, ExecutionState>();
  const created: NewExecution[] = [];
  for (const entrant of entrants) {
    const { executionId } = entrant.start;
    const admission = admissions.get(executionId);
    if (admission?.kind === 'refused') {
      refused.set(executionId, exceededError(admission.exceeded, entrant.start.plan.definition.name));
      continue;
    }
    await decideFirst(deps, tx, entrant, admission, now, owed);
    states.set(executionId, entrant.state);
    created.push(newExecution(entrant.start, now));
  }
  if (created.length > 0) await tx.createExecutions(created);
  await owed.write(tx);
  const announce: AfterCommit = () => {
    for (const state of states.values()) if (state.lifecycle.status === 'RUNNING') deps.cache.put(state);
    deps.wake.publish(owed.topics());
    deps.delayed.schedule(owed.laterTopics(now), now);
  };
  return { states, refused, announce };
};

export const entrantOf = (start: ReadyStart, now: Instant): Result<Entrant, ApplicationError> => {
  const state = emptyState(start.executionId, start.plan);
  const started = startedEvent(start, now);
  const gates = gatesOf(state, started);
  if (!gates.ok) return err({ code: 'VALIDATION_FAILED', message: gates.error, path: 'input' });
  return ok({ start, state, started, gates: gates.value });
};

/** Only what a limit concerns is asked about, so a start that none concerns costs nothing here. */
const admitAll = async (
  tx: EngineTx,
  entrants: readonly Entrant[],
  { limited }: StartContext,
): Promise<ReadonlyMap<ExecutionId, Admission>> => {
  const concerned = entrants.filter(({ start, gates }) => gates.length > 0 || limited.has(start.namespace));
  if (concerned.length === 0) return new Map();
  const answers = await tx.admitExecutions(
    concerned.map(({ start: { executionId, namespace }, gates }) => ({ executionId, namespace, gates, isStart: true })),
  );
  return new Map(
    concerned.flatMap(({ start }, index) => {
      const answer = answers[index];
      return answer === undefined ? [] : [[start.executionId, answer]];
    }),
  );
};

/** The first facts of a run, and what they owe. */
export const decideFirst = async (
  deps: DecisionDeps,
  reads: DecisionReads,
  { start, state, started, gates }: Entrant,
  admission: Admission | undefined,
  now: Instant,
  owed: OwedWork,
): Promise<void> => {
  const first: WorkflowEvent[] = [gates.length > 0 ? { ...started, gated: true } : started];
  if (admission?.kind === 'queued') first.push({ type: 'ExecutionQueued', at: now, key: admission.key });
  const begun = applyAccepted(state, first);
  owed.add(start.namespace, start.executionId, begun.events, begun.commands);
  const decided = await decideExecution(deps, reads, start.namespace, state, [], now, new RetryTally());
  owed.add(start.namespace, start.executionId, decided.events, decided.commands);
  if (decided.more) owed.addPass(start.executionId);
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
    semantics: SEMANTICS,
    ...(start.correlationId === undefined ? {} : { correlationId: start.correlationId }),
    ...(start.taskToDomain === undefined ? {} : { taskToDomain: start.taskToDomain }),
    ...(start.parent === undefined ? {} : { parent: start.parent, depth: start.depth }),
    ...(start.eventDepth === undefined ? {} : { eventDepth: start.eventDepth }),
    ...(start.failedExecutionId === undefined ? {} : { failedExecutionId: start.failedExecutionId }),
    ...(start.copyOf === undefined ? {} : { copyOf: start.copyOf }),
    ...(start.createdBy === undefined ? {} : { createdBy: start.createdBy }),
  };
};

export const newExecution = (start: ReadyStart, startedAt: Instant): NewExecution => {
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
