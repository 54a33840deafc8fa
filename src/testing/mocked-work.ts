import { isCallType } from '../domain/definition/task-types.ts';
import { CALLS_QUEUE } from '../domain/execution/queues.ts';
import { keyOf } from '../domain/execution/task-key.ts';
import { addMs, type ExecutionId, type Instant, type TaskId } from '../domain/kernel/brand.ts';
import type { LeasedTask, TaskReport } from '../ports/engine-store.ts';
import type { MockBook, MockedTask, MockOutcome } from './mocks.ts';
import { NAMESPACE, type SimulatedEngine } from './simulated-engine.ts';
import type { VirtualClock } from './virtual-clock.ts';

const MS_PER_SECOND = 1_000;
const LEASES_MAX = 1_000;
const RUNS_MAX = 1_000;
/** A simulated worker is heard of as long as it works, and a moment longer. */
const LEASE_MARGIN_MS = 60_000;

type Pending = Readonly<{ at: Instant; settle: () => Promise<void> }>;

/** Does what workers, people and callbacks would do, as the mocks say. */
export class MockedWork {
  /** Names of tasks that completed with nothing because no mock names them. */
  readonly unmocked = new Set<string>();
  private readonly clock: VirtualClock;
  private readonly book: MockBook;
  private readonly seen = new Set<TaskId>();
  private pending: Pending[] = [];

  private readonly unmockedCompletes: boolean;
  private waiting = false;

  constructor(clock: VirtualClock, book: MockBook, unmockedCompletes = true) {
    this.clock = clock;
    this.book = book;
    this.unmockedCompletes = unmockedCompletes;
  }

  /** A task has no mock, and is not to complete without one. */
  get isStuck(): boolean {
    return this.waiting;
  }

  /** Of leased system tasks, those that nobody mocks: they run for real, but for calls, which lead nowhere. */
  intercept(simulated: () => SimulatedEngine, tasks: readonly LeasedTask[]): readonly LeasedTask[] {
    return tasks.filter((task) => {
      const answer = this.book.answer(mockedTask('', task)) ?? this.unanswered(task);
      if (answer !== undefined) this.plan(answer, () => report(simulated(), task, answer));
      else if (task.queue === CALLS_QUEUE && !this.unmockedCompletes) this.waiting = true;
      return answer === undefined;
    });
  }

  private unanswered(task: LeasedTask): MockOutcome | undefined {
    if (!isCallType(task.taskType)) return undefined;
    this.unmocked.add(task.taskName);
    return {};
  }

  /** Takes what is there to take and settles what is over. Returns how much that was. */
  async turn(simulated: SimulatedEngine): Promise<number> {
    const taken = (await this.leaseAll(simulated)) + (await this.waitForAll(simulated));
    return taken + (await this.settleDue());
  }

  /** When the next of it is over. */
  nextAt(): Instant | undefined {
    return this.pending.reduce<Instant | undefined>(
      (first, { at }) => (first === undefined || at < first ? at : first),
      undefined,
    );
  }

  private plan({ afterSeconds = 0, never }: MockOutcome, settle: () => Promise<void>): void {
    if (never === true) return;
    this.pending.push({ at: addMs(this.clock.now(), Math.round(afterSeconds * MS_PER_SECOND)), settle });
  }

  private async settleDue(): Promise<number> {
    const due = this.pending.filter(({ at }) => at <= this.clock.now());
    this.pending = this.pending.filter(({ at }) => at > this.clock.now());
    for (const { settle } of due) await settle();
    return due.length;
  }

  private async leaseAll(simulated: SimulatedEngine): Promise<number> {
    const { workers } = simulated.useCases;
    const depths = await workers.queues(NAMESPACE);
    const queues = depths.ok ? depths.value.filter(({ ready }) => ready > 0).map(({ queue }) => queue) : [];
    if (queues.length === 0) return 0;
    const signal = new AbortController().signal;
    const call = { namespace: NAMESPACE, queues, workerId: 'simulation', count: LEASES_MAX, waitMs: 0, signal };
    const leased = await workers.lease(call);
    if (!leased.ok) throw new Error(leased.error.message);
    for (const task of leased.value) await this.work(simulated, task);
    return leased.value.length;
  }

  private async work(simulated: SimulatedEngine, task: LeasedTask): Promise<void> {
    const run = await simulated.index.find(NAMESPACE, task.executionId);
    const answer = this.book.answer(mockedTask(run?.name ?? '', task));
    if (answer === undefined) this.unmocked.add(task.taskName);
    if (answer === undefined && !this.unmockedCompletes) {
      this.waiting = true;
      return;
    }
    const outcome = answer ?? {};
    this.plan(outcome, () => report(simulated, task, outcome));
    if (outcome.never === true || outcome.afterSeconds === undefined) return;
    const leaseMs = outcome.afterSeconds * MS_PER_SECOND + LEASE_MARGIN_MS;
    const { taskId, leaseToken } = task;
    await simulated.useCases.workers.heartbeat(NAMESPACE, { taskId, leaseToken, leaseMs });
  }

  /** Waits, people and children that a mock names end by it; the others by the clock, or for real. */
  private async waitForAll(simulated: SimulatedEngine): Promise<number> {
    const statuses = ['RUNNING' as const];
    let taken = 0;
    for (const run of await simulated.index.search(NAMESPACE, { statuses }, { limit: RUNS_MAX })) {
      taken += await this.waitIn(simulated, run.executionId, run.name);
    }
    return taken;
  }

  private async waitIn(simulated: SimulatedEngine, id: ExecutionId, workflow: string): Promise<number> {
    const open = await simulated.index.openTasks(NAMESPACE, id);
    const waiting = open.filter((row) => row.family === 'waiting' && !row.hasOutcome && !this.seen.has(row.taskId));
    if (waiting.length === 0) return 0;
    const detail = await simulated.useCases.executions.get(NAMESPACE, id);
    const views = new Map(detail.ok ? detail.value.view.tasks.map((view) => [view.taskId, view]) : []);
    let taken = 0;
    for (const { taskId } of waiting) {
      this.seen.add(taskId);
      const view = views.get(taskId);
      const answer = view && this.book.answer(mockedTask(workflow, { ...view, taskType: view.type }));
      if (answer === undefined) continue;
      this.plan(answer, () => settleWaiting(simulated, taskId, answer));
      taken += 1;
    }
    return taken;
  }
}

type Attempt = Pick<LeasedTask, 'ref' | 'iteration' | 'taskName' | 'taskType' | 'attempt' | 'input'>;

const mockedTask = (workflow: string, task: Attempt): MockedTask => ({
  workflow,
  ref: keyOf(task),
  taskName: task.taskName,
  type: task.taskType,
  attempt: task.attempt,
  input: task.input,
});

const settlement = ({ status = 'COMPLETED', output = {}, reason }: MockOutcome) => ({
  status,
  output,
  ...(reason === undefined ? {} : { reason }),
});

const report = async ({ useCases }: SimulatedEngine, task: LeasedTask, outcome: MockOutcome): Promise<void> => {
  const { taskId, leaseToken, namespace } = task;
  const settled: TaskReport = { taskId, leaseToken, ...settlement(outcome) };
  // A report that comes too late is refused, as a worker's would be.
  await useCases.workers.report(namespace, [settled]);
};

const settleWaiting = async ({ engine }: SimulatedEngine, taskId: TaskId, outcome: MockOutcome): Promise<void> => {
  await engine.transaction((tx) => tx.settleWaiting(NAMESPACE, [{ taskId, ...settlement(outcome) }]));
};
