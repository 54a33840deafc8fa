import type { LeaseToken, TaskId } from '../../../src/domain/kernel/brand.ts';
import { taskIdOf } from '../../../src/domain/kernel/brand.ts';
import type { TaskReport } from '../../../src/ports/engine-store.ts';
import type { Database } from '../store/database.ts';
import { closedKey, type QueueRow } from '../store/rows.ts';
import type { Limits, TaskLimits } from '../store/session.ts';
import { reportHash } from '../store/statements/reports.ts';
import type { ChildWatch } from './child-watch.ts';
import type { Violations } from './violation.ts';

/** What the clients asked for: whatever happens to a lease, one of them must have wanted it. */
export class Intents {
  private readonly released = new Set<LeaseToken>();
  private readonly beaten = new Set<LeaseToken>();
  private readonly reported = new Set<string>();

  release(token: LeaseToken): void {
    this.released.add(token);
  }

  heartbeat(token: LeaseToken): void {
    this.beaten.add(token);
  }

  report(report: TaskReport): void {
    this.reported.add(`${report.taskId} ${reportHash(report.leaseToken, report)}`);
  }

  wasReleased(token: LeaseToken): boolean {
    return this.released.has(token);
  }

  wasBeaten(token: LeaseToken): boolean {
    return this.beaten.has(token);
  }

  wasReported(taskId: TaskId, hash: string): boolean {
    return this.reported.has(`${taskId} ${hash}`);
  }
}

/** Tasks that start runs: what they are told comes from these. */
const STARTING: ReadonlySet<string> = new Set(['SUB_WORKFLOW', 'START_WORKFLOW']);

export type LeaseWatchDeps = Readonly<{
  database: Database;
  intents: Intents;
  violations: Violations;
  children: ChildWatch;
  limits: Limits;
}>;

/** 5, 7, 9 and the mailbox: every change of a queue row that commits is one that its holder or the clock has earned. */
export class LeaseWatch {
  private readonly database: Database;
  private readonly intents: Intents;
  private readonly violations: Violations;
  private readonly children: ChildWatch;
  private readonly limits: Limits;
  /** Leases by name and window. */
  private readonly given = new Map<string, number>();
  private readonly tokens = new Set<LeaseToken>();

  constructor(deps: LeaseWatchDeps) {
    this.database = deps.database;
    this.intents = deps.intents;
    this.violations = deps.violations;
    this.children = deps.children;
    this.limits = deps.limits;
  }

  /** One row before and after a commit. */
  changed(before: QueueRow | undefined, after: QueueRow): void {
    const taskId = taskIdOf(after.executionId, after.seq);
    this.checkToken(taskId, before, after);
    if (before?.outcome !== after.outcome) this.checkOutcome(taskId, before, after);
  }

  /** 7: an attempt that a report closed on the short road was closed by its holder. */
  gone(before: QueueRow): void {
    if (before.outcome !== undefined || before.leaseToken === undefined || before.task.family === 'system') return;
    const key = closedKey(before.executionId, before.task);
    const hash = this.database.tables.closedTasks.find(key)?.committed?.reportHash;
    if (hash === undefined) return;
    const [token] = JSON.parse(hash) as readonly [LeaseToken];
    const taskId = taskIdOf(before.executionId, before.seq);
    if (token !== before.leaseToken || !this.intents.wasReported(taskId, hash)) {
      this.violations.add('7', `${taskId}: was closed by a report that its holder did not make`);
    }
  }

  private checkToken(taskId: TaskId, before: QueueRow | undefined, after: QueueRow): void {
    const [from, to] = [before?.leaseToken, after.leaseToken];
    if (from === to) {
      const isExtended = before?.leaseExpiresAt !== after.leaseExpiresAt;
      if (to !== undefined && isExtended && !this.intents.wasBeaten(to)) {
        this.violations.add('7', `${taskId}: somebody else extended the lease ${to}`);
      }
      return;
    }
    if (from !== undefined && !this.intents.wasReleased(from)) {
      this.violations.add('5', `${taskId}: the lease ${from} was taken from its holder`);
    }
    if (to === undefined) return;
    if (this.tokens.has(to)) this.violations.add('5', `${taskId}: the token ${to} was given before`);
    this.tokens.add(to);
    this.checkLimit(after);
  }

  private checkLimit(row: QueueRow): void {
    const limits = this.limits.get(`${row.namespace}/${row.task.taskName}`);
    if (limits === undefined) return;
    const { taskName } = row.task;
    const leased = [...this.database.tables.taskQueue.committed()].filter(
      (each) => each.leaseToken !== undefined && each.outcome === undefined,
    );
    const held = leased.filter((each) => each.task.taskName === taskName).length;
    if (limits.concurrent > 0 && held > limits.concurrent)
      this.violations.add('9', `${held} tasks ${taskName} are leased and ${limits.concurrent} may be`);
    this.checkPermits(limits, leased, row.namespace);
    this.checkRate(limits, taskName);
  }

  private checkPermits({ semaphores }: TaskLimits, leased: readonly QueueRow[], namespace: string): void {
    for (const semaphore of semaphores) {
      const row = this.database.tables.semaphores.find(`${namespace}/${semaphore}`)?.committed;
      const holders = leased.filter(({ task }) => {
        return this.limits.get(`${namespace}/${task.taskName}`)?.semaphores.includes(semaphore);
      });
      if (row !== undefined && holders.length > row.permits)
        this.violations.add('9', `${holders.length} tasks hold ${semaphore}, which has ${row.permits} permits`);
    }
  }

  /** What was leased as a window closed may become visible in the next, which is charged with it: hence twice. */
  private checkRate({ rate }: TaskLimits, taskName: string): void {
    if (rate === undefined) return;
    const window = `${taskName} ${Math.floor(this.database.now() / (rate.windowSeconds * 1_000))}`;
    const given = (this.given.get(window) ?? 0) + 1;
    this.given.set(window, given);
    if (given > 2 * rate.leases)
      this.violations.add('9', `${given} leases of ${taskName} in a window that allows ${rate.leases}`);
  }

  private checkOutcome(taskId: TaskId, before: QueueRow | undefined, after: QueueRow) {
    const { outcome, leaseToken, leaseExpiresAt, task } = after;
    if (before?.outcome !== undefined) {
      this.violations.add('6', `${taskId}: an outcome was replaced`);
      return;
    }
    if (outcome === undefined) return;
    if (outcome.deadline === 'HEARTBEAT') {
      if ((leaseExpiresAt ?? Number.POSITIVE_INFINITY) > outcome.at) {
        this.violations.add('5', `${taskId}: was timed out under a live lease`);
      }
      return;
    }
    if (STARTING.has(task.taskType)) return this.children.outcome(after, outcome);
    const isByClock = outcome.deadline !== undefined || (leaseToken === undefined && outcome.status === 'COMPLETED');
    // Tasks of the system are held and reported by the servers themselves.
    if (isByClock || task.family === 'system') return;
    if (leaseToken === undefined || !this.intents.wasReported(taskId, reportHash(leaseToken, outcome))) {
      this.violations.add('7', `${taskId}: has an outcome that its holder did not report`);
    }
  }
}
