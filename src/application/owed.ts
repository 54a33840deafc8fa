import type { Command } from '../domain/execution/commands.ts';
import type { SequencedEvent } from '../domain/execution/events.ts';
import type { ExecutionId, Instant, Namespace } from '../domain/kernel/brand.ts';
import type { EngineTx, OpenedTask, Owed, RunStep, TaskReport } from '../ports/engine-store.ts';
import { executionTopic, queueTopic, type WakeTopic } from '../ports/wake-signal.ts';

type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>;

/** What the decisions of one transaction owe to the store, collected over all its runs and written with few statements. */
export class OwedWork {
  private readonly events: Owed<SequencedEvent>[] = [];
  private readonly tasks = new Map<string, Owed<CommandOf<'EnqueueTask'>>>();
  private readonly closed: Owed<CommandOf<'CloseTask'>>[] = [];
  private readonly ended: Readonly<{ executionId: ExecutionId; at: Instant }>[] = [];
  private readonly timers = new Map<string, Owed<CommandOf<'ArmTimer'>>>();
  private readonly untimed: Owed<CommandOf<'CancelTimers'>>[] = [];
  private readonly projections = new Map<ExecutionId, Owed<CommandOf<'ProjectExecution'>>>();
  private readonly revisions = new Map<ExecutionId, Owed<CommandOf<'ReviseExecution'>>>();
  private readonly messages: Owed<CommandOf<'PublishMessage'>>[] = [];
  private readonly outputs: Owed<CommandOf<'StoreTaskOutput'>>[] = [];
  private readonly released = new Set<ExecutionId>();
  private reviewsAdmissions = false;
  private fits = true;
  private readonly again = new Set<ExecutionId>();

  add(
    namespace: Namespace,
    executionId: ExecutionId,
    events: readonly SequencedEvent[],
    commands: readonly Command[],
  ): void {
    for (const item of events) this.events.push({ namespace, executionId, item });
    for (const command of commands) {
      this.addCommand(namespace, executionId, command);
      this.fits &&= isOfAStep(command);
    }
  }

  /** Another pass over the run is needed. */
  addPass(executionId: ExecutionId): void {
    this.again.add(executionId);
  }

  private addCommand(namespace: Namespace, executionId: ExecutionId, item: Command): void {
    switch (item.type) {
      case 'EnqueueTask':
        this.tasks.set(item.taskId, { namespace, executionId, item });
        return;
      case 'CloseTask':
        // Opened and closed by the same pass: it never was in the queue.
        this.tasks.delete(item.taskId);
        this.closed.push({ namespace, executionId, item });
        return;
      case 'CancelOpenWork':
        this.forget(executionId);
        this.ended.push({ executionId, at: item.at });
        return;
      case 'ArmTimer':
        this.timers.set(timerKey(executionId, item, item.purpose), { namespace, executionId, item });
        return;
      case 'CancelTimers':
        for (const purpose of ['WAIT', 'SCHEDULE_TO_START', 'SCHEDULE_TO_CLOSE'] as const) {
          this.timers.delete(timerKey(executionId, item, purpose));
        }
        this.untimed.push({ namespace, executionId, item });
        return;
      case 'ReleaseAdmission':
        this.released.add(executionId);
        return;
      case 'ReviewAdmissions':
        this.reviewsAdmissions = true;
        return;
      case 'ProjectExecution':
        this.projections.set(executionId, { namespace, executionId, item });
        return;
      case 'ReviseExecution':
        this.revisions.set(executionId, { namespace, executionId, item });
        return;
      case 'PublishMessage':
        this.messages.push({ namespace, executionId, item });
        return;
      case 'StoreTaskOutput':
        this.outputs.push({ namespace, executionId, item });
        return;
      default:
        item satisfies never;
    }
  }

  /** A run that ended in this pass opens nothing of what it meant to open before. */
  private forget(executionId: ExecutionId): void {
    for (const [key, owed] of this.tasks) if (owed.executionId === executionId) this.tasks.delete(key);
    for (const [key, owed] of this.timers) if (owed.executionId === executionId) this.timers.delete(key);
  }

  /** The same as one step of the one run that it was collected for. `leaseOf` may lease what is opened on the way. */
  step(
    executionId: ExecutionId,
    namespace: Namespace,
    reports: readonly TaskReport[],
    leaseOf: (task: CommandOf<'EnqueueTask'>) => OpenedTask['lease'],
  ): RunStep {
    const projection = this.projections.get(executionId)?.item;
    return {
      executionId,
      namespace,
      reports,
      events: this.events.map(({ item }) => item),
      closed: this.closed.map(({ item }) => item),
      opened: [...this.tasks.values()].map(({ item }) => opened(item, leaseOf(item))),
      armed: [...this.timers.values()].map(({ item }) => item),
      disarmed: this.untimed.map(({ item }) => item),
      endsWork: this.ended.length > 0,
      messages: this.messages.map(({ item }) => item),
      ...(projection === undefined ? {} : { projection }),
    };
  }

  /** Whether `step` tells all of it: what others wait for is left to the pass. */
  fitsAStep(): boolean {
    return this.fits && this.again.size === 0;
  }

  /** Writes everything, in the lock order; a statement with nothing to do is not sent. */
  async write(tx: EngineTx): Promise<void> {
    if (this.again.size > 0) await tx.requestEvaluations([...this.again]);
    if (this.events.length > 0) await tx.appendEvents(this.events);
    if (this.projections.size > 0) await tx.projectExecutions([...this.projections.values()]);
    if (this.revisions.size > 0) await tx.reviseExecutions([...this.revisions.values()]);
    if (this.closed.length > 0) await tx.closeTasks(this.closed);
    if (this.ended.length > 0) await tx.cancelOpenWork(this.ended);
    if (this.tasks.size > 0) await this.enqueue(tx);
    if (this.released.size > 0) await tx.releaseAdmissions([...this.released]);
    if (this.untimed.length > 0) await tx.cancelTimers(this.untimed);
    if (this.timers.size > 0) await tx.armTimers([...this.timers.values()]);
    if (this.messages.length > 0) await tx.putMessages(this.messages);
    if (this.outputs.length > 0) await tx.storeTaskOutputs(this.outputs);
  }

  /** An identity that existed was absorbed: one more pass sees the true state (promise 3). */
  private async enqueue(tx: EngineTx): Promise<void> {
    const absorbed = await tx.enqueueTasks([...this.tasks.values()]);
    for (const id of absorbed) this.again.add(id);
    if (absorbed.size > 0) await tx.requestEvaluations([...absorbed]);
  }

  /** What to wake once the transaction has committed; nobody needs to look for a task that was leased on the way. */
  topics(isLeased: (task: CommandOf<'EnqueueTask'>) => boolean = () => false): ReadonlySet<WakeTopic> {
    const topics = new Set<WakeTopic>();
    for (const { executionId, item } of this.events) {
      topics.add(executionTopic(executionId));
      if (item.event.type === 'ExecutionQueued') topics.add('admissions');
    }
    for (const { namespace, item } of this.tasks.values()) {
      if (!isLeased(item)) topics.add(queueTopic(namespace, item.queue));
    }
    if (this.timers.size > 0) topics.add('timers');
    if (this.messages.length > 0) topics.add('outbox');
    if (this.released.size > 0 || this.reviewsAdmissions) topics.add('admissions');
    if (this.again.size > 0) topics.add('evaluations');
    return topics;
  }

  /** Queues in which a task becomes visible later: its pollers are woken then. */
  laterTopics(now: Instant): readonly Readonly<{ topic: WakeTopic; at: Instant }>[] {
    const later: { topic: WakeTopic; at: Instant }[] = [];
    for (const { namespace, item } of this.tasks.values()) {
      if (item.visibleAt > now) later.push({ topic: queueTopic(namespace, item.queue), at: item.visibleAt });
    }
    return later;
  }
}

/** What a step can write. */
const isOfAStep = (command: Command): boolean => {
  switch (command.type) {
    case 'EnqueueTask':
    case 'CloseTask':
    case 'CancelOpenWork':
    case 'ArmTimer':
    case 'CancelTimers':
    case 'ProjectExecution':
    case 'PublishMessage':
      return true;
    // What others wait for is left to the pass.
    case 'StoreTaskOutput':
    case 'ReviseExecution':
    case 'ReleaseAdmission':
    case 'ReviewAdmissions':
      return false;
    default:
      return command satisfies never;
  }
};

const opened = (task: CommandOf<'EnqueueTask'>, lease: OpenedTask['lease']): OpenedTask =>
  lease === undefined ? { task } : { task, lease };

const timerKey = (
  executionId: ExecutionId,
  slot: Readonly<{ ref: string; iteration: number; attempt: number }>,
  purpose: string,
): string => `${executionId}/${slot.ref}/${slot.iteration}/${slot.attempt}/${purpose}`;
