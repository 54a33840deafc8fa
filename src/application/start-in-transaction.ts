import type { ParentLink } from '../domain/execution/events.ts';
import type { ExecutionId, Instant, Namespace } from '../domain/kernel/brand.ts';
import { derivedExecutionId } from '../domain/kernel/derived-id.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { EngineTx } from '../ports/engine-store.ts';
import type { SchemaValidator } from '../ports/schema-validator.ts';
import type { ApplicationError } from './application-error.ts';
import type { ResolveBundle } from './definitions/load-bundle.ts';
import type { PlanCache } from './definitions/plan-cache.ts';
import { type AfterCommit, nothingMore } from './message-handler.ts';
import { type BeginDeps, beginRuns, noDefinition, type ReadyStart, startInput } from './start-run.ts';

export type DerivedStartDeps = BeginDeps &
  Readonly<{ resolveBundle: ResolveBundle; plans: PlanCache; schemas: SchemaValidator }>;

/** A run that the engine itself starts because of a fact: its id is derived from the fact, never drawn. */
export type DerivedStart = Readonly<{
  namespace: Namespace;
  executionId: ExecutionId;
  name: string;
  version?: number;
  input: JsonObject;
  priority: number;
  correlationId?: string;
  taskToDomain?: Readonly<Record<string, string>>;
  parent?: ParentLink;
  depth?: number;
  failedExecutionId?: ExecutionId;
}>;

/** Starts runs inside a transaction that its caller owns; a start that is delivered twice starts one run. */
export class StartInTransaction {
  private readonly deps: DerivedStartDeps;

  constructor(deps: DerivedStartDeps) {
    this.deps = deps;
  }

  /** Reads only. Errors, which would come again at each delivery: NOT_FOUND, INPUT_SCHEMA_VIOLATION. */
  async prepare(tx: EngineTx, start: DerivedStart): Promise<Result<ReadyStart, ApplicationError>> {
    const { name, version, namespace } = start;
    const resolved = await this.deps.resolveBundle(namespace, name, version, tx);
    if (resolved === undefined) return err(noDefinition(name, version));
    const plan = await this.deps.plans.planOf(resolved.hash, tx);
    const input = startInput(this.deps.schemas, plan, start.input);
    if (!input.ok) return input;
    return ok({
      namespace,
      executionId: start.executionId,
      plan,
      input: input.value,
      priority: start.priority,
      correlationId: start.correlationId,
      taskToDomain: start.taskToDomain,
      idempotencyKey: undefined,
      parent: start.parent,
      depth: start.depth ?? 0,
      failedExecutionId: start.failedExecutionId,
    });
  }

  /** Puts the run on record, unless it is there already: the same fact was carried out before. */
  async begin(tx: EngineTx, ready: ReadyStart): Promise<AfterCommit> {
    const { now, head } = await tx.lookUpRun(ready.executionId);
    if (head !== undefined) return nothingMore;
    return (await beginRuns(this.deps, tx, [ready], now)).announce;
  }

  async start(tx: EngineTx, start: DerivedStart): Promise<Result<AfterCommit, ApplicationError>> {
    const ready = await this.prepare(tx, start);
    return ready.ok ? ok(await this.begin(tx, ready.value)) : ready;
  }
}

/** The run that a message starts: the same one however often it is delivered. */
export const runStartedBy = (at: Instant, executionId: ExecutionId, dedupKey: string): ExecutionId =>
  derivedExecutionId(at, `${executionId}/${dedupKey}`);
