import type { MaskedKeys } from '../domain/execution/masking.ts';
import { isClosedExecution } from '../domain/execution/statuses.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { err, ok } from '../domain/kernel/result.ts';
import { formatInstant } from '../domain/kernel/time.ts';
import type { OpenTaskRow } from '../ports/engine-store.ts';
import type { ExecutionIndex } from '../ports/execution-index.ts';
import { executionTopic, type WakeSignal } from '../ports/wake-signal.ts';
import { noExecution } from './control-execution.ts';
import { type MaskedReads, maskedEvents, maskedOpenTasks } from './masked-reads.ts';
import type { QueryExecutions } from './query-executions.ts';
import type { ExecutionDetail, Outcome, StreamItem, WaitRequest } from './use-cases.ts';
import { WakeFlag } from './wake-flag.ts';

/** Events of one read; a slow reader holds one page and no more. */
const STREAM_PAGE = 500;
/** A stream that heard of nothing looks again this often: hints may be lost. */
const STREAM_BACKSTOP_MS = 2_000;

export type FollowDeps = Readonly<{
  index: ExecutionIndex;
  wake: WakeSignal;
  queries: QueryExecutions;
  masks: MaskedReads;
}>;

/** Follows runs: the stream of one run's facts, and the wait for its end. */
export class FollowExecution {
  private readonly deps: FollowDeps;

  constructor(deps: FollowDeps) {
    this.deps = deps;
  }

  /** See UseCases.executions.stream. Errors: NOT_FOUND, INVALID_CURSOR. */
  async stream(
    namespace: Namespace,
    executionId: ExecutionId,
    after: number,
    signal: AbortSignal,
  ): Outcome<AsyncIterable<StreamItem>> {
    const last = await this.deps.index.lastSeq(namespace, executionId);
    if (last === undefined) return err(noExecution(executionId));
    if (after > last) {
      return err({
        code: 'INVALID_CURSOR',
        message: `The log of this execution ends at ${last}; ${after} is beyond it.`,
      });
    }
    const keys = await this.deps.masks.keysOfRun(namespace, executionId);
    if (keys === undefined) return err(noExecution(executionId));
    return ok(this.items(namespace, executionId, after, keys, signal));
  }

  private async *items(
    namespace: Namespace,
    executionId: ExecutionId,
    after: number,
    keys: MaskedKeys,
    signal: AbortSignal,
  ): AsyncGenerator<StreamItem> {
    let seq = after;
    const notes = new LeaseNotes();
    const woken = this.flag(executionId);
    try {
      while (!signal.aborted) {
        woken.clear();
        const page = await this.deps.index.history(namespace, executionId, seq, STREAM_PAGE);
        for (const entry of maskedEvents(page, keys)) {
          yield { kind: 'event', entry };
          seq = entry.seq;
        }
        if (page.length === STREAM_PAGE) continue;
        if (await this.isOver(namespace, executionId, seq)) {
          yield { kind: 'end' };
          return;
        }
        const open = await this.deps.index.openTasks(namespace, executionId);
        for (const note of notes.of(maskedOpenTasks(open, keys))) yield { kind: 'note', note };
        await woken.wait(signal, STREAM_BACKSTOP_MS);
      }
    } finally {
      woken.close();
    }
  }

  /** Over when the run has ended and the reader has its last fact. A retried run has more to tell. */
  private async isOver(namespace: Namespace, executionId: ExecutionId, seq: number): Promise<boolean> {
    const row = await this.deps.index.find(namespace, executionId);
    if (row === undefined) return true;
    if (!isClosedExecution(row.status)) return false;
    return (await this.deps.index.lastSeq(namespace, executionId)) === seq;
  }

  /** Resolves with the run as it is when it or the named task has ended, or when the time is up. */
  async wait(namespace: Namespace, executionId: ExecutionId, request: WaitRequest): Outcome<ExecutionDetail> {
    const deadline = performance.now() + request.waitMs;
    const woken = this.flag(executionId);
    try {
      for (;;) {
        woken.clear();
        const leftMs = deadline - performance.now();
        const expired = leftMs <= 0 || request.signal.aborted;
        if (expired || (await this.isReached(namespace, executionId, request))) {
          return await this.deps.queries.get(namespace, executionId);
        }
        await woken.wait(request.signal, Math.min(leftMs, STREAM_BACKSTOP_MS));
      }
    } finally {
      woken.close();
    }
  }

  private async isReached(namespace: Namespace, executionId: ExecutionId, request: WaitRequest): Promise<boolean> {
    const { untilTaskRef: ref, untilBlocked = false } = request;
    const row = await this.deps.index.find(namespace, executionId);
    if (row === undefined || isClosedExecution(row.status)) return true;
    if (untilBlocked && (row.status === 'PAUSED' || (await this.isBlocked(namespace, executionId)))) return true;
    if (ref === undefined) return false;
    const detail = await this.deps.queries.get(namespace, executionId);
    if (!detail.ok) return true;
    return detail.value.view.tasks.some((task) => task.ref === ref && task.endedAt !== undefined && !task.retried);
  }

  private async isBlocked(namespace: Namespace, executionId: ExecutionId): Promise<boolean> {
    const open = await this.deps.index.openTasks(namespace, executionId);
    return open.length > 0 && open.every(({ family, hasOutcome }) => family === 'waiting' && !hasOutcome);
  }

  private flag(executionId: ExecutionId): WakeFlag {
    return new WakeFlag(this.deps.wake, executionTopic(executionId));
  }
}

/** Tells of each live lease and each progress once. */
class LeaseNotes {
  private readonly told = new Map<string, string>();

  of(rows: readonly OpenTaskRow[]): readonly JsonObject[] {
    const notes: JsonObject[] = [];
    for (const row of rows) {
      if (!row.leased) continue;
      const note = noteOf(row);
      const text = JSON.stringify(note);
      if (this.told.get(row.taskId) === text) continue;
      this.told.set(row.taskId, text);
      notes.push(note);
    }
    return notes;
  }
}

const noteOf = (row: OpenTaskRow): JsonObject => ({
  taskId: row.taskId,
  taskRef: row.ref,
  iteration: row.iteration,
  attempt: row.attempt,
  status: 'IN_PROGRESS',
  ...(row.workerId === undefined ? {} : { workerId: row.workerId }),
  ...(row.startedAt === undefined ? {} : { startedAt: formatInstant(row.startedAt) }),
  ...(row.progress === undefined ? {} : { progress: row.progress }),
});
