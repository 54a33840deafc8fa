import { type ExecutionStatus, isClosedExecution } from '../domain/execution/statuses.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';
import { canonicalJson } from '../domain/kernel/canonical-json.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { ContentHasher } from '../ports/content-hasher.ts';
import {
  type DefinitionReads,
  type EngineStore,
  type EngineTx,
  type IdempotencyClaim,
  type IdempotencyHolder,
  workflowKey,
} from '../ports/engine-store.ts';
import type { Ids } from '../ports/ids.ts';
import type { PinnedDefinition } from '../ports/run-start.ts';
import type { ApplicationError } from './application-error.ts';
import { Batcher } from './batcher.ts';
import type { ResolveBundle, ResolvedBundle } from './definitions/load-bundle.ts';
import { LruMap } from './definitions/lru-map.ts';
import type { PlanCache } from './definitions/plan-cache.ts';
import type { ShortStart } from './short-start.ts';
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
    freeze: (namespace: Namespace, document: JsonObject) => Promise<Result<ResolvedBundle, ApplicationError>>;
    clock: StoreClock;
    short: ShortStart;
  }>;

/** Starts that one transaction takes, and how many such transactions run at a time. */
const START_BATCH_MAX = 100;
const START_FLIGHTS_MAX = 2;
/** How often a start tries again that lost its key to a run which then was refused, was removed, or ended at once. */
const KEY_TRIES_MAX = 50;
const KEY_RETRY_PAUSE_MS = 20;

type KeyedStart = ReadyStart & Readonly<{ fingerprint: string; request: StartRequest }>;

/** What an earlier start found, and of what it was made. */
type Known = Readonly<{ hash: string; pinned: PinnedDefinition }>;
/** Definitions that are known to starts. */
const KNOWN_MAX = 1_000;

type Lookup = Readonly<{ namespace: Namespace; name: string; version: number | undefined }>;

/** `lost`: another run holds the idempotency key. */
type Creation = Readonly<
  { kind: 'created'; status: ExecutionStatus } | { kind: 'lost' } | { kind: 'refused'; error: ApplicationError }
>;

export class StartWorkflow {
  private readonly deps: StartDeps;
  private readonly batcher: Batcher<KeyedStart, Creation>;
  private readonly lookups: Batcher<Lookup, ResolvedBundle | undefined>;
  private readonly known = new LruMap<string, Known>(KNOWN_MAX);

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
   * request under the key), CONFLICT (strategy FAIL, or FAIL_ON_RUNNING while one runs), LIMIT_EXCEEDED (too many runs).
   */
  async start(namespace: Namespace, request: StartRequest): Promise<Result<StartedExecution, ApplicationError>> {
    const started = await this.startKnown(namespace, request);
    if (started !== undefined) return ok(started);
    const ready = await this.prepare(namespace, request);
    if (!ready.ok) return ready;
    for (let tries = 0; tries < KEY_TRIES_MAX; tries += 1) {
      const answer = await this.tryToStart(ready.value);
      if (answer !== undefined) return answer;
      await new Promise((resolve) => setTimeout(resolve, KEY_RETRY_PAUSE_MS));
    }
    const message = `The run that holds the idempotency key ${request.idempotencyKey ?? ''} keeps changing.`;
    return err({ code: 'UNAVAILABLE', message });
  }

  /**
   * The short road, with the definitions that an earlier start found. Undefined: the longer one, which alone may say why a
   * start is refused, since it looks again.
   */
  private async startKnown(namespace: Namespace, request: StartRequest): Promise<StartedExecution | undefined> {
    const { name, version } = request;
    const known = this.known.get(keyOf({ namespace, name, version }));
    if (known === undefined || request.inline !== undefined) return undefined;
    const ready = await this.readyWith(namespace, request, known.hash);
    if (!ready.ok) return undefined;
    const { value: start } = ready;
    const claim = start.idempotencyKey === undefined ? {} : { claim: claimOf(start) };
    const status = await this.deps.short.start({ ready: start, pinned: known.pinned, ...claim });
    if (status === undefined) return undefined;
    const { definition } = start.plan;
    const { executionId } = start;
    return { executionId, status, name: definition.name, version: definition.version, created: true };
  }

  /** Undefined: whoever won the key does not hold it any more, or not against this start. */
  private async tryToStart(start: KeyedStart): Promise<Result<StartedExecution, ApplicationError> | undefined> {
    const creation = await this.batcher.submit(start);
    const { name, version } = start.plan.definition;
    switch (creation.kind) {
      case 'created':
        return ok({ executionId: start.executionId, status: creation.status, name, version, created: true });
      case 'refused':
        return err(creation.error);
      case 'lost': {
        // After its own transaction: inside, the winner is invisible.
        const holder = await this.deps.engine.findIdempotencyHolder(start.namespace, keyHeldBy(start));
        return holder === undefined ? undefined : existingAnswer(start, holder);
      }
      default:
        return creation satisfies never;
    }
  }

  private async prepare(namespace: Namespace, request: StartRequest): Promise<Result<KeyedStart, ApplicationError>> {
    const resolved = await this.bundleFor(namespace, request);
    return resolved.ok ? this.readyWith(namespace, request, resolved.value.hash) : resolved;
  }

  private async bundleFor(
    namespace: Namespace,
    { name, version, inline }: StartRequest,
  ): Promise<Result<ResolvedBundle, ApplicationError>> {
    if (inline !== undefined) return this.deps.freeze(namespace, inline);
    const resolved = await this.lookups.submit({ namespace, name, version });
    return resolved === undefined ? err(noDefinition(name, version)) : ok(resolved);
  }

  private async readyWith(
    namespace: Namespace,
    request: StartRequest,
    definitionHash: string,
  ): Promise<Result<KeyedStart, ApplicationError>> {
    const { name, version, priority, correlationId, taskToDomain, idempotencyKey, copyOf, createdBy } = request;
    const plan = await this.deps.plans.planOf(definitionHash, this.deps.definitions);
    const input = startInput(this.deps.schemas, plan, request.input);
    if (!input.ok) return input;
    const fingerprint = this.deps.hash(canonicalJson({ name, version: version ?? null, input: request.input }));
    const executionId = this.deps.ids.executionId();
    const root = { parent: undefined, depth: 0, failedExecutionId: undefined };
    const how = { priority, correlationId, taskToDomain, idempotencyKey, copyOf, createdBy };
    return ok({ namespace, executionId, plan, input: input.value, ...how, ...root, fingerprint, request });
  }

  /** Starts of one definition that arrive together look it up once; each lookup begins after its start arrived. */
  private async lookUp(lookups: readonly Lookup[]): Promise<readonly (ResolvedBundle | undefined)[]> {
    const found = new Map<string, Promise<ResolvedBundle | undefined>>();
    const answers = lookups.map((lookup) => {
      const key = keyOf(lookup);
      const answer = found.get(key) ?? this.resolve(lookup);
      found.set(key, answer);
      return answer;
    });
    return Promise.all(answers);
  }

  private async resolve({ namespace, name, version }: Lookup): Promise<ResolvedBundle | undefined> {
    const resolved = await this.deps.resolveBundle(namespace, name, version);
    if (resolved === undefined) return undefined;
    const asked = version === undefined ? { namespace, name } : { namespace, name, version };
    this.known.set(keyOf({ namespace, name, version }), {
      hash: resolved.hash,
      pinned: { ...asked, ...resolved.pinned },
    });
    return resolved;
  }

  /** One transaction for all: the run, its first facts and its first tasks, without a pass of their own. */
  private async create(starts: readonly KeyedStart[]): Promise<readonly Creation[]> {
    const context = await this.deps.engine.startContext([...new Set(starts.map(({ namespace }) => namespace))]);
    this.deps.clock.read(context.now);
    const begun = await this.deps.engine.transaction(async (tx) => {
      const lost = await this.lostKeys(tx, starts);
      const winners = starts.filter((start) => !lost.has(start.executionId));
      const begun = await beginRuns(this.deps, tx, winners, context);
      const refused = winners.filter(({ executionId }) => begun.refused.has(executionId));
      await giveBackKeys(tx, refused);
      return begun;
    });
    begun.announce();
    return starts.map(({ executionId }) => {
      const error = begun.refused.get(executionId);
      if (error !== undefined) return { kind: 'refused', error };
      const status = begun.states.get(executionId)?.lifecycle.status;
      return status === undefined || status === 'NEW' ? { kind: 'lost' } : { kind: 'created', status };
    });
  }

  /** Runs whose key another run holds, in another transaction or earlier in this very batch. */
  private async lostKeys(tx: EngineTx, starts: readonly KeyedStart[]): Promise<ReadonlySet<ExecutionId>> {
    const lost = new Set<ExecutionId>();
    const first = new Map<string, KeyedStart>();
    for (const start of starts) {
      if (start.idempotencyKey === undefined) continue;
      const id = `${start.namespace}/${keyHeldBy(start)}`;
      if (first.has(id)) lost.add(start.executionId);
      else first.set(id, start);
    }
    if (first.size === 0) return lost;
    const keyed = [...first.values()];
    const won = await tx.claimIdempotencyKeys(keyed.map(claimOf));
    const late = keyed.filter(({ executionId }) => !won.has(executionId));
    const bold = late.filter(({ request }) => request.idempotencyStrategy === 'FAIL_ON_RUNNING');
    const takenOver = bold.length === 0 ? new Set<ExecutionId>() : await tx.takeOverIdempotencyKeys(bold.map(claimOf));
    for (const { executionId } of late) if (!takenOver.has(executionId)) lost.add(executionId);
    return lost;
  }
}

const keyOf = ({ namespace, name, version }: Lookup): string => JSON.stringify([namespace, name, version]);

/** What was claimed for runs that a limit refused: the next start under the key may find room. */
const giveBackKeys = async (tx: EngineTx, refused: readonly KeyedStart[]): Promise<void> => {
  const claims = refused.filter(({ idempotencyKey }) => idempotencyKey !== undefined).map(claimOf);
  if (claims.length > 0) await tx.releaseIdempotencyKeys(claims);
};

const claimOf = (start: KeyedStart): IdempotencyClaim => ({
  namespace: start.namespace,
  key: keyHeldBy(start),
  executionId: start.executionId,
  fingerprint: start.fingerprint,
});

/** A user's key has no control characters, so a name before a line break makes it one of that workflow alone. */
const keyHeldBy = ({ request, idempotencyKey = '' }: KeyedStart): string =>
  request.idempotencyScope === 'workflow' ? workflowKey(request.name, idempotencyKey) : idempotencyKey;

/** Undefined: the holder has ended, and this start may take its key over. */
const existingAnswer = (
  start: KeyedStart,
  { executionId, fingerprint, status }: IdempotencyHolder,
): Result<StartedExecution, ApplicationError> | undefined => {
  const { idempotencyKey: key = '', idempotencyStrategy: strategy } = start.request;
  if (strategy === 'FAIL_ON_RUNNING' && isClosedExecution(status)) return undefined;
  if (start.request.idempotencyScope === undefined && fingerprint !== start.fingerprint) {
    const message = `The idempotency key ${key} was used for another request.`;
    return err({ code: 'IDEMPOTENCY_KEY_REUSED', message, path: 'idempotencyKey' });
  }
  if (strategy !== 'RETURN_EXISTING') {
    const message = `An execution with the idempotency key ${key} exists.`;
    return err({ code: 'CONFLICT', message, details: { workflowId: executionId } });
  }
  const { name, version } = start.plan.definition;
  return ok({ executionId, status, name, version, created: false });
};
