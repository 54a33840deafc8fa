import { isClosedExecution } from '../domain/execution/statuses.ts';
import { keyOf } from '../domain/execution/task-key.ts';
import type { TaskView } from '../domain/execution/view.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { ExecutionIndex } from '../ports/execution-index.ts';
import { executionTopic, type WakeSignal } from '../ports/wake-signal.ts';
import { noExecution } from './control-execution.ts';
import type { QueryExecutions } from './query-executions.ts';
import type { BlockedExecution, ExecutionDetail, Outcome, WaitUntilBlockedRequest } from './use-cases.ts';
import { WakeFlag } from './wake-flag.ts';

/** A wait that heard of nothing looks again this often: hints may be lost. */
const BACKSTOP_MS = 2_000;

export type WaitUntilBlockedDeps = Readonly<{ index: ExecutionIndex; wake: WakeSignal; queries: QueryExecutions }>;

type Blocking = NonNullable<BlockedExecution['blocking']>;

/** Waits until a run can go on only by a signal. */
export class WaitUntilBlocked {
  private readonly deps: WaitUntilBlockedDeps;

  constructor(deps: WaitUntilBlockedDeps) {
    this.deps = deps;
  }

  /**
   * Resolves with the run as it is when it has ended or is paused, when it or a run below it waits for somebody, when one of the named
   * tasks has ended, or when the time is up. Errors: NOT_FOUND.
   */
  async wait(namespace: Namespace, id: ExecutionId, request: WaitUntilBlockedRequest): Outcome<BlockedExecution> {
    const deadline = performance.now() + request.waitMs;
    const flag = new WakeFlag(this.deps.wake, executionTopic(id));
    try {
      for (;;) {
        flag.clear();
        const row = await this.deps.index.find(namespace, id);
        if (row === undefined) return err(noExecution(id));
        const isStill = isClosedExecution(row.status) || row.status === 'PAUSED';
        const blocking = isStill ? undefined : await this.blockingIn(namespace, id, flag);
        const isReached = blocking !== undefined || isStill;
        const leftMs = deadline - performance.now();
        const timedOut = leftMs <= 0 || request.signal.aborted;
        if (isReached || timedOut || (await this.hasEnded(namespace, id, request.untilTaskRefs))) {
          return await this.told(namespace, id, blocking, timedOut && !isReached);
        }
        await flag.wait(request.signal, Math.min(leftMs, BACKSTOP_MS));
      }
    } finally {
      flag.close();
    }
  }

  private async told(
    namespace: Namespace,
    id: ExecutionId,
    blocking: Blocking | undefined,
    timedOut: boolean,
  ): Outcome<BlockedExecution> {
    const { queries } = this.deps;
    const target = blocking?.detail.view.executionId === id ? ok(blocking.detail) : await queries.get(namespace, id);
    return target.ok ? ok({ target: target.value, timedOut, ...(blocking !== undefined && { blocking }) }) : target;
  }

  private async hasEnded(namespace: Namespace, id: ExecutionId, refs: readonly string[]): Promise<boolean> {
    if (refs.length === 0) return false;
    const detail = await this.deps.queries.get(namespace, id);
    return !detail.ok || detail.value.view.tasks.some((task) => isEndOf(task, refs));
  }

  /** The first task that waits for somebody, of this run or of one below it that it waits for, which are listened to as well. */
  private async blockingIn(namespace: Namespace, id: ExecutionId, flag: WakeFlag): Promise<Blocking | undefined> {
    flag.add(executionTopic(id));
    const open = await this.deps.index.openTasks(namespace, id);
    // Most runs wait for nobody, and are not folded to find that out.
    if (!open.some(({ family, hasOutcome }) => family === 'waiting' && !hasOutcome)) return undefined;
    const detail = await this.deps.queries.get(namespace, id);
    return detail.ok ? this.blockingAmong(namespace, detail.value, flag) : undefined;
  }

  private async blockingAmong(
    namespace: Namespace,
    detail: ExecutionDetail,
    flag: WakeFlag,
  ): Promise<Blocking | undefined> {
    // What ended it waits for the pass that makes a fact of it.
    const answered = new Set(detail.live.filter(({ hasOutcome }) => hasOutcome).map(({ taskId }) => taskId));
    for (const task of detail.view.tasks) {
      if (task.endedAt !== undefined || answered.has(task.taskId)) continue;
      if (waitsForSomebody(task)) return { detail, task };
      const below =
        task.subWorkflowId === undefined ? undefined : await this.blockingIn(namespace, task.subWorkflowId, flag);
      if (below !== undefined) return below;
    }
    return undefined;
  }
}

const waitsForSomebody = ({ type, fireAt }: TaskView): boolean =>
  fireAt === undefined && (type === 'WAIT' || type === 'YIELD' || type === 'HUMAN');

const isEndOf = (task: TaskView, refs: readonly string[]): boolean =>
  task.endedAt !== undefined && !task.retried && (refs.includes(task.ref) || refs.includes(keyOf(task)));
