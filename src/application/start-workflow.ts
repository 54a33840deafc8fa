import type { Plan } from '../domain/definition/plan.ts';
import { applyAccepted } from '../domain/execution/decide.ts';
import type { ExecutionStarted } from '../domain/execution/events.ts';
import { type ExecutionState, emptyState } from '../domain/execution/state.ts';
import type { ExecutionStatus } from '../domain/execution/statuses.ts';
import type { ExecutionId, Instant, Namespace } from '../domain/kernel/brand.ts';
import { canonicalJson } from '../domain/kernel/canonical-json.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { ContentHasher } from '../ports/content-hasher.ts';
import type { DefinitionReads, EngineStore, EngineTx, IdempotencyHolder, NewExecution } from '../ports/engine-store.ts';
import type { Ids } from '../ports/ids.ts';
import type { SchemaValidator } from '../ports/schema-validator.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { ApplicationError } from './application-error.ts';
import { Batcher } from './batcher.ts';
import { type DecisionDeps, decideExecution } from './decide-execution.ts';
import type { ResolveBundle, ResolvedBundle } from './definitions/load-bundle.ts';
import type { PlanCache } from './definitions/plan-cache.ts';
import type { DelayedWakes } from './delayed-wakes.ts';
import type { FoldCache } from './fold-cache.ts';
import { OwedWork } from './owed.ts';
import type { StartedExecution, StartRequest } from './use-cases.ts';

export type StartDeps = DecisionDeps &
  Readonly<{
    engine: EngineStore;
    resolveBundle: ResolveBundle;
    definitions: DefinitionReads;
    plans: PlanCache;
    cache: FoldCache;
    wake: WakeSignal;
    delayed: DelayedWakes;
    ids: Ids;
    hash: ContentHasher;
    schemas: SchemaValidator;
  }>;

/** Starts that one transaction takes, and how many such transactions run at a time. */
const START_BATCH_MAX = 100;
const START_FLIGHTS_MAX = 2;
/** The winner of a key may still be committing when its loser looks it up. */
const HOLDER_LOOKUPS_MAX = 50;
const HOLDER_LOOKUP_PAUSE_MS = 20;

/** A start that was checked: nothing about it can be refused any more but its idempotency key. */
type ReadyStart = Readonly<{
  namespace: Namespace;
  executionId: ExecutionId;
  plan: Plan;
  input: JsonObject;
  fingerprint: string;
  request: StartRequest;
  failedExecutionId: ExecutionId | undefined;
}>;

type Lookup = Readonly<{ namespace: Namespace; name: string; version: number | undefined }>;

type Won = Readonly<{ won: true; status: ExecutionStatus } | { won: false }>;

export class StartWorkflow {
  private readonly deps: StartDeps;
  private readonly batcher: Batcher<ReadyStart, Won>;
  private readonly lookups: Batcher<Lookup, ResolvedBundle | undefined>;

  constructor(deps: StartDeps) {
    this.deps = deps;
    this.lookups = new Batcher({
      run: (lookups) => this.lookUp(lookups),
      sizeMax: START_BATCH_MAX,
      inFlightMax: START_FLIGHTS_MAX,
    });
    this.batcher = new Batcher({
      run: (starts) => this.create(starts),
      sizeMax: START_BATCH_MAX,
      inFlightMax: START_FLIGHTS_MAX,
    });
  }

  /**
   * Starts a run, once per idempotency key. Errors: NOT_FOUND, INPUT_SCHEMA_VIOLATION, IDEMPOTENCY_KEY_REUSED (another
   * request under the key), CONFLICT (strategy FAIL, or FAIL_ON_RUNNING while one runs).
   */
  async start(
    namespace: Namespace,
    request: StartRequest,
    failedExecutionId?: ExecutionId,
  ): Promise<Result<StartedExecution, ApplicationError>> {
    const ready = await this.prepare(namespace, request, failedExecutionId);
    if (!ready.ok) return ready;
    const outcome = await this.batcher.submit(ready.value);
    if (!outcome.won) return this.existing(ready.value);
    const { name, version } = ready.value.plan.definition;
    return ok({ executionId: ready.value.executionId, status: outcome.status, name, version, created: true });
  }

  private async prepare(
    namespace: Namespace,
    request: StartRequest,
    failedExecutionId: ExecutionId | undefined,
  ): Promise<Result<ReadyStart, ApplicationError>> {
    const resolved = await this.lookups.submit({ namespace, name: request.name, version: request.version });
    if (resolved === undefined) {
      const version = request.version === undefined ? '' : ` version ${request.version}`;
      return err({ code: 'NOT_FOUND', message: `There is no workflow definition ${request.name}${version}.` });
    }
    const plan = await this.deps.plans.planOf(resolved.hash, this.deps.definitions);
    const input = { ...plan.definition.inputTemplate, ...request.input };
    const violation = this.schemaViolation(plan, input);
    if (violation !== undefined) return err(violation);
    const fingerprint = this.deps.hash(
      canonicalJson({ name: request.name, version: request.version ?? null, input: request.input }),
    );
    const executionId = this.deps.ids.executionId();
    return ok({ namespace, executionId, plan, input, fingerprint, request, failedExecutionId });
  }

  /** Starts of one definition that arrive together look it up once; each lookup begins after its start arrived. */
  private async lookUp(lookups: readonly Lookup[]): Promise<readonly (ResolvedBundle | undefined)[]> {
    const found = new Map<string, Promise<ResolvedBundle | undefined>>();
    const answers = lookups.map(({ namespace, name, version }) => {
      const key = JSON.stringify([namespace, name, version]);
      const answer = found.get(key) ?? this.deps.resolveBundle(namespace, name, version);
      found.set(key, answer);
      return answer;
    });
    return Promise.all(answers);
  }

  private schemaViolation(plan: Plan, input: JsonObject): ApplicationError | undefined {
    const { inputSchema, enforceSchema } = plan.definition;
    if (inputSchema === undefined || !enforceSchema) return undefined;
    const violation = this.deps.schemas.firstViolation(inputSchema, input);
    if (violation === undefined) return undefined;
    return { code: 'INPUT_SCHEMA_VIOLATION', message: violation.message, path: `input${violation.path}` };
  }

  /** One transaction for all: the run, its first facts and its first tasks, without a pass of their own. */
  private async create(starts: readonly ReadyStart[]): Promise<readonly Won[]> {
    const now = await this.deps.engine.now();
    const made = await this.deps.engine.transaction(async (tx) => {
      const lost = await this.lostKeys(tx, starts);
      const winners = starts.filter((start) => !lost.has(start.executionId));
      const owed = new OwedWork();
      const states = new Map<ExecutionId, ExecutionState>();
      for (const start of winners) states.set(start.executionId, await this.decideFirst(tx, start, now, owed));
      if (winners.length > 0) await tx.createExecutions(winners.map((start) => newExecution(start, now)));
      await owed.write(tx);
      return { owed, states };
    });
    for (const state of made.states.values()) if (state.lifecycle.status === 'RUNNING') this.deps.cache.put(state);
    this.deps.wake.publish(made.owed.topics());
    this.deps.delayed.schedule(made.owed.laterTopics(now), now);
    return starts.map((start) => {
      const status = made.states.get(start.executionId)?.lifecycle.status;
      return status === undefined || status === 'NEW' ? { won: false } : { won: true, status };
    });
  }

  /** Runs whose key another run holds, in another transaction or earlier in this very batch. */
  private async lostKeys(tx: EngineTx, starts: readonly ReadyStart[]): Promise<ReadonlySet<ExecutionId>> {
    const lost = new Set<ExecutionId>();
    const first = new Map<string, ReadyStart>();
    for (const start of starts) {
      const key = start.request.idempotencyKey;
      if (key === undefined) continue;
      const id = `${start.namespace}/${key}`;
      if (first.has(id)) lost.add(start.executionId);
      else first.set(id, start);
    }
    if (first.size === 0) return lost;
    const claims = [...first.values()].map((start) => ({
      namespace: start.namespace,
      key: start.request.idempotencyKey ?? '',
      executionId: start.executionId,
      fingerprint: start.fingerprint,
    }));
    const won = await tx.claimIdempotencyKeys(claims);
    for (const claim of claims) if (!won.has(claim.executionId)) lost.add(claim.executionId);
    return lost;
  }

  private async decideFirst(tx: EngineTx, start: ReadyStart, now: Instant, owed: OwedWork): Promise<ExecutionState> {
    const state = emptyState(start.executionId, start.plan);
    const first = applyAccepted(state, [startedEvent(start, now)]);
    owed.add(start.namespace, start.executionId, first.events, first.commands);
    const decided = await decideExecution(this.deps, tx, start.namespace, state, [], now);
    owed.add(start.namespace, start.executionId, decided.events, decided.commands);
    if (decided.more) owed.addPass(start.executionId);
    return state;
  }

  /** The loser of a key looks the winner up after its own transaction ended: inside, the winner is invisible. */
  private async existing(start: ReadyStart): Promise<Result<StartedExecution, ApplicationError>> {
    const key = start.request.idempotencyKey ?? '';
    for (let lookup = 0; lookup < HOLDER_LOOKUPS_MAX; lookup += 1) {
      const holder = await this.deps.engine.findIdempotencyHolder(start.namespace, key);
      if (holder !== undefined) return existingAnswer(start, holder);
      await new Promise((resolve) => setTimeout(resolve, HOLDER_LOOKUP_PAUSE_MS));
    }
    return err({ code: 'UNAVAILABLE', message: `The run that holds the idempotency key ${key} is not visible yet.` });
  }
}

const existingAnswer = (start: ReadyStart, holder: IdempotencyHolder): Result<StartedExecution, ApplicationError> => {
  const key = start.request.idempotencyKey ?? '';
  if (holder.fingerprint !== start.fingerprint) {
    return err({
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: `The idempotency key ${key} was used for another request.`,
      path: 'idempotencyKey',
    });
  }
  const strategy = start.request.idempotencyStrategy;
  const runs = holder.status === 'RUNNING' || holder.status === 'PAUSED';
  if (strategy === 'FAIL' || (strategy === 'FAIL_ON_RUNNING' && runs)) {
    return err({
      code: 'CONFLICT',
      message: `An execution with the idempotency key ${key} exists.`,
      details: { workflowId: holder.executionId },
    });
  }
  const { name, version } = start.plan.definition;
  return ok({ executionId: holder.executionId, status: holder.status, name, version, created: false });
};

const startedEvent = (start: ReadyStart, at: Instant): ExecutionStarted => {
  const { definition, hash } = start.plan;
  const { request } = start;
  return {
    type: 'ExecutionStarted',
    at,
    namespace: start.namespace,
    definitionHash: hash,
    name: definition.name,
    version: definition.version,
    input: start.input,
    variables: definition.variables,
    priority: request.priority,
    ...(request.correlationId === undefined ? {} : { correlationId: request.correlationId }),
    ...(request.taskToDomain === undefined ? {} : { taskToDomain: request.taskToDomain }),
    ...(start.failedExecutionId === undefined ? {} : { failedExecutionId: start.failedExecutionId }),
  };
};

const newExecution = (start: ReadyStart, startedAt: Instant): NewExecution => {
  const { definition, hash } = start.plan;
  const { correlationId, idempotencyKey, priority } = start.request;
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
  };
};
