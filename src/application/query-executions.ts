import { z } from 'zod';
import type { Plan } from '../domain/definition/plan.ts';
import type { SequencedEvent } from '../domain/execution/events.ts';
import { type MaskedKeys, maskedKeysOf } from '../domain/execution/masking.ts';
import { projectView } from '../domain/execution/project-view.ts';
import { skippedTasks } from '../domain/execution/skipped-tasks.ts';
import type { ExecutionView, TaskView } from '../domain/execution/view.ts';
import { type ExecutionId, type Instant, type Namespace, parseExecutionId } from '../domain/kernel/brand.ts';
import { canonicalJson } from '../domain/kernel/canonical-json.ts';
import type { JsonValue } from '../domain/kernel/json.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { Clock } from '../ports/clock.ts';
import type { OpenTaskRow } from '../ports/engine-store.ts';
import type {
  ExecutionFilter,
  ExecutionIndex,
  ExecutionRow,
  ExecutionSummary,
  FoundRuns,
} from '../ports/execution-index.ts';
import type { RunQuery } from '../ports/run-query.ts';
import type { ApplicationError } from './application-error.ts';
import { noExecution } from './control-execution.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { BundleSource, PlanCache } from './definitions/plan-cache.ts';
import { type MaskedReads, maskedEvents, maskedOpenTasks, maskedRow, maskedView } from './masked-reads.ts';
import type { ExecutionDetail, Outcome, Page, WaitingFor } from './use-cases.ts';
import { isReady, type Surroundings, UNSERVED_AFTER_MS, whyWaiting } from './why-waiting.ts';
import type { WorkerRegistry } from './worker-registry.ts';

/** Events read from the log at a time. */
const HISTORY_PAGE = 5_000;

const cursorSchema = z.tuple([z.number(), z.string()]);

export type QueryDeps = Readonly<{
  index: ExecutionIndex;
  plans: PlanCache;
  bundles: BundleSource;
  masks: MaskedReads;
  workers: WorkerRegistry;
  clock: Clock;
}>;

/** The reads of runs. Nothing decides from them. */
/** Runs of a tree that one answer shows. */
export const TREE_RUNS_MAX = 1_000;

export class QueryExecutions {
  private readonly index: ExecutionIndex;
  private readonly plans: PlanCache;
  private readonly bundles: BundleSource;
  private readonly masks: MaskedReads;
  private readonly workers: WorkerRegistry;
  private readonly clock: Clock;

  constructor({ index, plans, bundles, masks, workers, clock }: QueryDeps) {
    this.index = index;
    this.plans = plans;
    this.bundles = bundles;
    this.masks = masks;
    this.workers = workers;
    this.clock = clock;
  }

  /** The run as the log tells it, with the tasks that its switches passed over. */
  private async view(
    executionId: ExecutionId,
    log: readonly SequencedEvent[],
  ): Promise<Readonly<{ view: ExecutionView; plan: Plan }>> {
    const view = projectView(executionId, log);
    const plan = await this.plans.planOf(view.definitionHash, this.bundles);
    return { view: { ...view, tasks: [...view.tasks, ...skippedTasks(plan, view)] }, plan };
  }

  /** The whole log up to and including `seq`, in pages, so that no answer of the database is unbounded. */
  async wholeLog(namespace: Namespace, id: ExecutionId, upTo = Number.MAX_SAFE_INTEGER): Promise<SequencedEvent[]> {
    const log: SequencedEvent[] = [];
    for (;;) {
      const page = await this.index.history(namespace, id, log.at(-1)?.seq ?? 0, HISTORY_PAGE);
      for (const entry of page) if (entry.seq <= upTo) log.push(entry);
      const last = page.at(-1)?.seq ?? 0;
      if (page.length < HISTORY_PAGE || last >= upTo) return log;
    }
  }

  async get(namespace: Namespace, executionId: ExecutionId): Outcome<ExecutionDetail> {
    const row = await this.index.find(namespace, executionId);
    if (row === undefined) return err(noExecution(executionId));
    // The live rows are read first: an attempt that closes in between shows as closed by the log, never as gone.
    const live = await this.index.openTasks(namespace, executionId);
    const log = await this.wholeLog(namespace, executionId);
    if (log.length === 0) return err(noExecution(executionId));
    const { view: told, plan } = await this.view(executionId, log);
    const view = overlay(told, live);
    const keys = maskedKeysOf(plan.definition);
    return ok({
      row: maskedRow(row, keys),
      view: maskedView(view, keys),
      live: maskedOpenTasks(live, keys),
      waitingFor: [
        ...(await this.whyQueued(row)),
        ...whyWaiting(row, view, live, await this.surroundings(namespace, view, live, plan)),
      ],
      plan,
    });
  }

  private async whyQueued({ namespace, executionId, awaitingAdmission }: ExecutionRow): Promise<readonly WaitingFor[]> {
    if (awaitingAdmission === undefined) return [];
    const queued = await this.index.waitingAdmission(namespace, executionId);
    if (queued === undefined) return [];
    const { key, limit, running, ahead } = queued;
    const why = `It awaits its admission: ${running} of ${limit} executions with the key "${key}" are going, ${ahead} wait before it.`;
    return [{ ref: '', iteration: 0, gate: 'ADMISSION', why }];
  }

  /** The limits are read only where they could hold a task back. */
  private async surroundings(
    namespace: Namespace,
    view: ExecutionView,
    live: readonly OpenTaskRow[],
    plan: Plan,
  ): Promise<Surroundings> {
    const now = this.clock.now();
    const ready = new Set(live.filter((row) => isReady(row, now)).map(({ taskId }) => taskId as string));
    const names = new Set(view.tasks.filter(({ taskId }) => ready.has(taskId)).map(({ taskName }) => taskName));
    const gates = names.size === 0 ? [] : await this.index.taskGates(namespace, [...names]);
    return {
      now,
      tasksInFlightMax: plan.tasksInFlightMax,
      gates: new Map(gates.map((each) => [each.taskName, each])),
      served: await this.workers.served(namespace, queuesOf(live, ready), UNSERVED_AFTER_MS),
    };
  }

  async status(namespace: Namespace, executionId: ExecutionId): Outcome<ExecutionSummary> {
    const row = await this.index.find(namespace, executionId);
    return row === undefined ? err(noExecution(executionId)) : ok(row);
  }

  /** The run and those below it, at every depth, the oldest first. */
  async tree(
    namespace: Namespace,
    executionId: ExecutionId,
  ): Outcome<Readonly<{ executions: readonly ExecutionSummary[]; truncated: boolean }>> {
    const root = await this.index.find(namespace, executionId);
    if (root === undefined) return err(noExecution(executionId));
    const below = await this.index.descendants(namespace, executionId, TREE_RUNS_MAX);
    const shown = below.slice(0, TREE_RUNS_MAX - 1);
    const ordered = shown.toSorted((a, b) => (a.executionId < b.executionId ? -1 : 1));
    return ok({ executions: [root, ...ordered], truncated: below.length > shown.length });
  }

  async history(
    namespace: Namespace,
    executionId: ExecutionId,
    after: number,
    limit: number,
  ): Outcome<Readonly<{ events: readonly SequencedEvent[]; more: boolean }>> {
    const events = await this.index.history(namespace, executionId, after, limit + 1);
    if (events.length === 0 && (await this.index.lastSeq(namespace, executionId)) === undefined) {
      return err(noExecution(executionId));
    }
    const keys = await this.masks.keysOfRun(namespace, executionId);
    if (keys === undefined) return err(noExecution(executionId));
    return ok({ events: maskedEvents(events.slice(0, limit), keys), more: events.length > limit });
  }

  /** Errors: NOT_FOUND, VALIDATION_FAILED when the log is not that long. */
  async stateAt(namespace: Namespace, executionId: ExecutionId, seq: number): Outcome<ExecutionView> {
    const last = await this.index.lastSeq(namespace, executionId);
    if (last === undefined) return err(noExecution(executionId));
    if (seq < 1 || seq > last) return err(beyondLog(seq, last));
    const { view, plan } = await this.view(executionId, await this.wholeLog(namespace, executionId, seq));
    return ok(maskedView(view, maskedKeysOf(plan.definition)));
  }

  async searchRuns(namespace: Namespace, query: RunQuery): Outcome<FoundRuns> {
    const { rows, total } = await this.index.searchRuns(namespace, query);
    const keys = new Map<string, MaskedKeys>();
    for (const { definitionHash } of rows) {
      if (!keys.has(definitionHash)) keys.set(definitionHash, await this.masks.keysOf(definitionHash));
    }
    return ok({ rows: rows.map((row) => maskedRow(row, keys.get(row.definitionHash) ?? new Set())), total });
  }

  async search(
    namespace: Namespace,
    filter: ExecutionFilter,
    limit: number,
    cursor?: string,
  ): Outcome<Page<ExecutionSummary>> {
    const scope = `${namespace}/executions/${canonicalJson(filter as unknown as JsonValue)}`;
    const after = cursor === undefined ? undefined : decodeCursor(scope, cursor, cursorSchema);
    if (after !== undefined && !after.ok) return after;
    const id = after === undefined ? undefined : parseExecutionId(after.value[1]);
    const position =
      after === undefined || id === undefined
        ? {}
        : { after: { startedAt: after.value[0] as Instant, executionId: id } };
    const found = await this.index.search(namespace, filter, { limit: limit + 1, ...position });
    const items = found.slice(0, limit);
    const last = items.at(-1);
    if (found.length <= limit || last === undefined) return ok({ items });
    return ok({ items, nextCursor: encodeCursor(scope, [last.startedAt, last.executionId]) });
  }
}

/** Where what could be leased waits for workers. */
const queuesOf = (live: readonly OpenTaskRow[], ready: ReadonlySet<string>): readonly string[] => [
  ...new Set(live.filter(({ family, taskId }) => family === 'worker' && ready.has(taskId)).map(({ queue }) => queue)),
];

const beyondLog = (seq: number, last: number): ApplicationError => ({
  code: 'VALIDATION_FAILED',
  message: `The log of this execution has the events 1 to ${last}; there is no ${seq}.`,
  path: 'seq',
});

/** Lays the live lease of each open attempt over what history says of it. */
const overlay = (view: ExecutionView, live: readonly OpenTaskRow[]): ExecutionView => {
  const rows = new Map(live.map((row) => [row.taskId as string, row]));
  return { ...view, tasks: view.tasks.map((task) => overlaid(task, rows.get(task.taskId))) };
};

/** A call between two polls, or one that others will answer, is under way though nobody holds it. */
const isUnderWay = ({ leased, family, progress }: OpenTaskRow): boolean =>
  leased || (family === 'system' && progress !== undefined);

const overlaid = (task: TaskView, row: OpenTaskRow | undefined): TaskView => {
  if (row === undefined || !isUnderWay(row) || task.endedAt !== undefined) return task;
  return {
    ...task,
    status: 'IN_PROGRESS',
    ...(row.workerId === undefined ? {} : { workerId: row.workerId }),
    ...(row.startedAt === undefined ? {} : { startedAt: row.startedAt }),
  };
};
