import type { CheckScript } from '../domain/definition/check-context.ts';
import { inlineDocument } from '../domain/definition/check-inline-definitions.ts';
import type { Dialect } from '../domain/definition/workflow-definition.ts';
import type { ParentLink } from '../domain/execution/events.ts';
import type { ExecutionId, Instant, Namespace } from '../domain/kernel/brand.ts';
import { canonicalJson } from '../domain/kernel/canonical-json.ts';
import { derivedExecutionId } from '../domain/kernel/derived-id.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { ContentHasher } from '../ports/content-hasher.ts';
import type { EngineTx } from '../ports/engine-store.ts';
import type { SchemaValidator } from '../ports/schema-validator.ts';
import type { ApplicationError } from './application-error.ts';
import { freezeDefinition } from './definitions/freeze-definition.ts';
import type { ResolveBundle, ResolvedBundle } from './definitions/load-bundle.ts';
import type { PlanCache } from './definitions/plan-cache.ts';
import { type AfterCommit, nothingMore } from './message-handler.ts';
import { type BeginDeps, beginRuns, noDefinition, type ReadyStart, startInput } from './start-run.ts';

export type DerivedStartDeps = BeginDeps &
  Readonly<{
    resolveBundle: ResolveBundle;
    plans: PlanCache;
    schemas: SchemaValidator;
    hash: ContentHasher;
    checkScript: CheckScript;
  }>;

/** A run that the engine itself starts because of a fact: its id is derived from the fact, never drawn. */
export type DerivedStart = Readonly<{
  namespace: Namespace;
  executionId: ExecutionId;
  name: string;
  version?: number;
  /** A definition that no name leads to; `name` is its own where it has none. */
  inline?: Readonly<{ document: JsonObject; dialect: Dialect }>;
  input: JsonObject;
  priority: number;
  correlationId?: string;
  taskToDomain?: Readonly<Record<string, string>>;
  parent?: ParentLink;
  depth?: number;
  /** Starts by events that led here. */
  eventDepth?: number;
  failedExecutionId?: ExecutionId;
}>;

/** A start that can be carried out; its bundle is put, and known for good once the transaction has committed. */
export type PreparedStart = ReadyStart & Readonly<{ remember: AfterCommit }>;

/** Starts runs inside a transaction that its caller owns; a start that is delivered twice starts one run. */
export class StartInTransaction {
  private readonly deps: DerivedStartDeps;

  constructor(deps: DerivedStartDeps) {
    this.deps = deps;
  }

  /**
   * Locks nothing of any run. Errors, which would come again at each delivery: NOT_FOUND, INPUT_SCHEMA_VIOLATION, and
   * those of a registration for a definition that data gave.
   */
  async prepare(tx: EngineTx, start: DerivedStart): Promise<Result<PreparedStart, ApplicationError>> {
    const { namespace } = start;
    const resolved = await this.resolve(tx, start);
    if (!resolved.ok) return resolved;
    const plan = await this.deps.plans.planOf(resolved.value.hash, tx);
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
      copyOf: undefined,
      createdBy: undefined,
      parent: start.parent,
      depth: start.depth ?? 0,
      failedExecutionId: start.failedExecutionId,
      ...(start.eventDepth === undefined ? {} : { eventDepth: start.eventDepth }),
      remember: resolved.value.remember,
    });
  }

  /** What two starts under one idempotency key must have in common. */
  fingerprintOf(start: Readonly<{ name: string; version: number | null; input: JsonObject }>): string {
    const { name, version, input } = start;
    return this.deps.hash(canonicalJson({ name, version, input }));
  }

  private async resolve(tx: EngineTx, start: DerivedStart): Promise<Result<ResolvedBundle, ApplicationError>> {
    const { namespace, name, version, inline } = start;
    if (inline !== undefined)
      return freezeDefinition(this.deps, tx, namespace, inlineDocument(inline.document, name), inline.dialect);
    const resolved = await this.deps.resolveBundle(namespace, name, version, tx);
    return resolved === undefined ? err(noDefinition(name, version)) : ok(resolved);
  }

  /**
   * Puts the run on record, unless it is there already: the same fact was carried out before. Errors, of which a later
   * delivery may find nothing any more: LIMIT_EXCEEDED; and VALIDATION_FAILED (its rateLimitKey cannot be resolved).
   */
  async begin(tx: EngineTx, ready: PreparedStart): Promise<Result<AfterCommit, ApplicationError>> {
    const { now, head, isLimited } = await tx.lookUpRun(ready.executionId, ready.namespace);
    if (head !== undefined) return ok(nothingMore);
    const limited = new Set(isLimited ? [ready.namespace] : []);
    const { refused, announce } = await beginRuns(this.deps, tx, [ready], { now, limited });
    const error = refused.get(ready.executionId);
    if (error !== undefined) return err(error);
    return ok(() => {
      ready.remember();
      announce();
    });
  }

  async start(tx: EngineTx, start: DerivedStart): Promise<Result<AfterCommit, ApplicationError>> {
    const ready = await this.prepare(tx, start);
    return ready.ok ? this.begin(tx, ready.value) : ready;
  }
}

/** The run that a message starts: the same one however often it is delivered. */
export const runStartedBy = (at: Instant, executionId: ExecutionId, dedupKey: string): ExecutionId =>
  derivedExecutionId(at, `${executionId}/${dedupKey}`);
