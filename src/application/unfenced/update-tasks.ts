import type { Instant, LeaseToken, Namespace, TaskId } from '../../domain/kernel/brand.ts';
import { parseTaskId } from '../../domain/kernel/brand.ts';
import { err, ok } from '../../domain/kernel/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EngineStore, OpenLease } from '../../ports/engine-store.ts';
import { queueTopic } from '../../ports/wake-signal.ts';
import type { DelayedWakes } from '../delayed-wakes.ts';
import type { HeldLeases } from '../held-leases.ts';
import type { ReportTasks } from '../report-tasks.ts';
import type { TaskDoors } from '../task-doors.ts';
import type { Outcome } from '../use-cases.ts';
import type { TaskUpdate, UpdateAnswer } from './task-update.ts';

type Deps = Readonly<{
  engine: EngineStore;
  clock: Clock;
  held: HeldLeases;
  reports: ReportTasks;
  doors: TaskDoors;
  delayed: DelayedWakes;
}>;

/** Looks at who holds the attempt: more than one only while it changes hands. */
const LOOKS_MAX = 3;

const IGNORED: UpdateAnswer = { kind: 'ignored' };

const noTask = (taskId: string) => err({ code: 'NOT_FOUND', message: `No such task found by id: ${taskId}` } as const);

/** One who gives no name is no worker of whom another could have taken over. */
const isHolder = (update: TaskUpdate, workerId: string | undefined): boolean =>
  update.workerId === undefined || update.workerId === workerId;

/**
 * Updates from clients that were never given a lease token. The id names the attempt, so nothing that is said of an earlier
 * attempt can touch a later one; the name of the worker tells whether a lease of it is still the speaker's. The token that is
 * then used is the one of that lease, so what changes hands meanwhile is fenced as everywhere (promise 7).
 */
export class UpdateTasks {
  private readonly deps: Deps;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** `by` ends a task that nobody holds. Errors: NOT_FOUND, and why such a task cannot be ended so. */
  async update(namespace: Namespace, update: TaskUpdate, by: string): Outcome<UpdateAnswer> {
    const held = this.deps.held.last(update.taskId);
    if (held !== undefined && isHolder(update, held.workerId)) {
      const isDone = await this.byHolder(namespace, update, held.leaseToken);
      if (isDone) return ok({ kind: 'done', queue: held.queue });
    }
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const lease = await this.deps.engine.findOpenLease(namespace, update.taskId);
      if (lease === undefined) return this.ended(namespace, update.taskId);
      const answer = await this.byWhatIsThere(namespace, update, lease, by);
      if (answer !== undefined) return answer;
    }
    return ok(IGNORED);
  }

  /** Undefined: it changed hands meanwhile, so it has to be looked at again. */
  private async byWhatIsThere(
    namespace: Namespace,
    update: TaskUpdate,
    { family, queue, leaseToken, workerId }: OpenLease,
    by: string,
  ): Promise<Awaited<Outcome<UpdateAnswer>> | undefined> {
    if (leaseToken !== undefined && family === 'worker') {
      if (!isHolder(update, workerId)) return ok(IGNORED);
      return (await this.byHolder(namespace, update, leaseToken)) ? ok({ kind: 'done', queue }) : undefined;
    }
    if (update.status !== 'IN_PROGRESS') return this.end(namespace, update, update.status, by);
    if (update.logs.length > 0) await this.log(namespace, update);
    if (update.extendsLease) return ok({ kind: 'done' });
    return (await this.putOff(namespace, update, undefined)) ? ok({ kind: 'done' }) : undefined;
  }

  /** False: the lease is not this one any more, and nothing was changed. */
  private async byHolder(namespace: Namespace, update: TaskUpdate, leaseToken: LeaseToken): Promise<boolean> {
    const { taskId, status, output, reason, logs } = update;
    const lease = { taskId, leaseToken };
    if (logs.length > 0 && !(await this.deps.reports.appendLogs(namespace, lease, logs)).ok) return false;
    if (status === 'IN_PROGRESS' && update.extendsLease) {
      return (await this.deps.reports.heartbeat(namespace, lease)).ok;
    }
    if (status === 'IN_PROGRESS') return this.putOff(namespace, update, leaseToken);
    const report = { ...lease, status, output, ...(reason !== undefined && { reason }) };
    const [answer] = await this.deps.reports.report(namespace, [report]);
    return answer?.result.ok === true;
  }

  private async putOff(
    namespace: Namespace,
    { taskId, afterSeconds, output }: TaskUpdate,
    leaseToken: LeaseToken | undefined,
  ): Promise<boolean> {
    const putOff = { taskId, afterSeconds, progress: output, ...(leaseToken !== undefined && { leaseToken }) };
    const put = await this.deps.engine.transaction((tx) => tx.putOffTask(namespace, putOff));
    if (put === undefined) return false;
    this.deps.held.forget(taskId);
    const now = this.deps.clock.now();
    // The clock of the store and this one may differ: what comes too early finds nothing, and the backstop looks again.
    const at = (now + afterSeconds * 1_000) as Instant;
    this.deps.delayed.schedule([{ topic: queueTopic(namespace, put.queue), at }], now);
    return true;
  }

  /** A task that nobody holds is ended as an operator ends it: under the lock of its run. */
  private async end(
    namespace: Namespace,
    update: TaskUpdate,
    status: Exclude<TaskUpdate['status'], 'IN_PROGRESS'>,
    by: string,
  ): Promise<Awaited<Outcome<UpdateAnswer>> | undefined> {
    const { taskId, output, reason, workerId } = update;
    const call = { status, output, ...(reason !== undefined && { reason }) };
    if (update.logs.length > 0) await this.log(namespace, update);
    const answer = await this.deps.doors.complete(namespace, taskId, call, workerId ?? by, true);
    if (answer.ok) return ok({ kind: 'done' });
    const { code } = answer.error;
    if (code === 'TERMINAL_STATE') return ok(IGNORED);
    const isOpen = code !== 'INVALID_STATE' || (await this.deps.engine.findOpenLease(namespace, taskId)) !== undefined;
    return isOpen ? answer : ok(IGNORED);
  }

  private log(namespace: Namespace, { taskId, logs }: TaskUpdate): Promise<boolean> {
    const at = this.deps.clock.now();
    const lines = logs.map((line) => ({ at, line }));
    return this.deps.engine.transaction((tx) => tx.appendTaskLogs(namespace, taskId, lines));
  }

  /** Lines from outside, of an attempt that may have ended. Errors: NOT_FOUND. */
  async appendLogs(namespace: Namespace, taskId: TaskId, lines: readonly string[]): Outcome<null> {
    const at = this.deps.clock.now();
    const stamped = lines.map((line) => ({ at, line }));
    const isKnown = await this.deps.engine.transaction((tx) => tx.appendTaskLogs(namespace, taskId, stamped));
    return isKnown ? ok(null) : noTask(taskId);
  }

  /** An attempt that ended is told from one that never was. */
  private async ended(namespace: Namespace, taskId: TaskId): Outcome<UpdateAnswer> {
    const task = parseTaskId(taskId);
    if (task === undefined) return noTask(taskId);
    const scheduled = await this.deps.engine.findEvent(task.executionId, task.scheduledSeq);
    const isTask = scheduled?.namespace === namespace && scheduled.event.type === 'TaskScheduled';
    return isTask ? ok(IGNORED) : noTask(taskId);
  }
}
