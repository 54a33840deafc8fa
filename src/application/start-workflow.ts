import type { ExecutionStatus } from '../domain/execution/statuses.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';
import { canonicalJson } from '../domain/kernel/canonical-json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { ContentHasher } from '../ports/content-hasher.ts';
import type { DefinitionReads, EngineStore, EngineTx, IdempotencyHolder } from '../ports/engine-store.ts';
import type { Ids } from '../ports/ids.ts';
import type { ApplicationError } from './application-error.ts';
import { Batcher } from './batcher.ts';
import type { ResolveBundle, ResolvedBundle } from './definitions/load-bundle.ts';
import type { PlanCache } from './definitions/plan-cache.ts';
import { type BeginDeps, beginRuns, noDefinition, type ReadyStart, startInput } from './start-run.ts';
import type { StoreClock } from './store-clock.ts';
import type { StartedExecution, StartRequest } from './use-cases.ts';

export type StartDeps = BeginDeps &
  Readonly<{
    engine: EngineStore;
    resolveBundle: ResolveBundle;
    definitions: DefinitionReads;
    plans: PlanCache;
    ids: Ids;
    hash: ContentHasher;
    clock: StoreClock;
  }>;

/** Starts that one transaction takes, and how many such transactions run at a time. */
const START_BATCH_MAX = 100;
const START_FLIGHTS_MAX = 2;
/** The winner of a key may still be committing when its loser looks it up. */
const HOLDER_LOOKUPS_MAX = 50;
const HOLDER_LOOKUP_PAUSE_MS = 20;

type KeyedStart = ReadyStart & Readonly<{ fingerprint: string; request: StartRequest }>;

type Lookup = Readonly<{ namespace: Namespace; name: string; version: number | undefined }>;

type Won = Readonly<{ won: true; status: ExecutionStatus } | { won: false }>;

export class StartWorkflow {
  private readonly deps: StartDeps;
  private readonly batcher: Batcher<KeyedStart, Won>;
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
  async start(namespace: Namespace, request: StartRequest): Promise<Result<StartedExecution, ApplicationError>> {
    const ready = await this.prepare(namespace, request);
    if (!ready.ok) return ready;
    const outcome = await this.batcher.submit(ready.value);
    if (!outcome.won) return this.existing(ready.value);
    const { name, version } = ready.value.plan.definition;
    return ok({ executionId: ready.value.executionId, status: outcome.status, name, version, created: true });
  }

  private async prepare(namespace: Namespace, request: StartRequest): Promise<Result<KeyedStart, ApplicationError>> {
    const { name, version, priority, correlationId, taskToDomain, idempotencyKey } = request;
    const resolved = await this.lookups.submit({ namespace, name, version });
    if (resolved === undefined) return err(noDefinition(name, version));
    const plan = await this.deps.plans.planOf(resolved.hash, this.deps.definitions);
    const input = startInput(this.deps.schemas, plan, request.input);
    if (!input.ok) return input;
    const fingerprint = this.deps.hash(canonicalJson({ name, version: version ?? null, input: request.input }));
    const executionId = this.deps.ids.executionId();
    const root = { parent: undefined, depth: 0, failedExecutionId: undefined };
    const how = { priority, correlationId, taskToDomain, idempotencyKey };
    return ok({ namespace, executionId, plan, input: input.value, ...how, ...root, fingerprint, request });
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

  /** One transaction for all: the run, its first facts and its first tasks, without a pass of their own. */
  private async create(starts: readonly KeyedStart[]): Promise<readonly Won[]> {
    const now = await this.deps.engine.now();
    this.deps.clock.read(now);
    const begun = await this.deps.engine.transaction(async (tx) => {
      const lost = await this.lostKeys(tx, starts);
      const winners = starts.filter((start) => !lost.has(start.executionId));
      return beginRuns(this.deps, tx, winners, now);
    });
    begun.announce();
    return starts.map((start) => {
      const status = begun.states.get(start.executionId)?.lifecycle.status;
      return status === undefined || status === 'NEW' ? { won: false } : { won: true, status };
    });
  }

  /** Runs whose key another run holds, in another transaction or earlier in this very batch. */
  private async lostKeys(tx: EngineTx, starts: readonly KeyedStart[]): Promise<ReadonlySet<ExecutionId>> {
    const lost = new Set<ExecutionId>();
    const first = new Map<string, KeyedStart>();
    for (const start of starts) {
      const key = start.idempotencyKey;
      if (key === undefined) continue;
      const id = `${start.namespace}/${key}`;
      if (first.has(id)) lost.add(start.executionId);
      else first.set(id, start);
    }
    if (first.size === 0) return lost;
    const claims = [...first.values()].map((start) => ({
      namespace: start.namespace,
      key: start.idempotencyKey ?? '',
      executionId: start.executionId,
      fingerprint: start.fingerprint,
    }));
    const won = await tx.claimIdempotencyKeys(claims);
    for (const claim of claims) if (!won.has(claim.executionId)) lost.add(claim.executionId);
    return lost;
  }

  /** The loser of a key looks the winner up after its own transaction ended: inside, the winner is invisible. */
  private async existing(start: KeyedStart): Promise<Result<StartedExecution, ApplicationError>> {
    const key = start.idempotencyKey ?? '';
    for (let lookup = 0; lookup < HOLDER_LOOKUPS_MAX; lookup += 1) {
      const holder = await this.deps.engine.findIdempotencyHolder(start.namespace, key);
      if (holder !== undefined) return existingAnswer(start, holder);
      await new Promise((resolve) => setTimeout(resolve, HOLDER_LOOKUP_PAUSE_MS));
    }
    return err({ code: 'UNAVAILABLE', message: `The run that holds the idempotency key ${key} is not visible yet.` });
  }
}

const existingAnswer = (start: KeyedStart, holder: IdempotencyHolder): Result<StartedExecution, ApplicationError> => {
  const key = start.idempotencyKey ?? '';
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
