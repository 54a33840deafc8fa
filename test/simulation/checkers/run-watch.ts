import type { MessageReceived, ParentLink, WorkflowEvent } from '../../../src/domain/execution/events.ts';
import { type ExecutionStatus, isClosedExecution } from '../../../src/domain/execution/statuses.ts';
import { keyOf } from '../../../src/domain/execution/task-key.ts';
import { type ExecutionId, type TaskId, taskIdOf } from '../../../src/domain/kernel/brand.ts';
import { canonicalJson } from '../../../src/domain/kernel/canonical-json.ts';
import { isJsonObject } from '../../../src/domain/kernel/json.ts';
import type { Database } from '../store/database.ts';
import { attemptKey, closedKey, type EventRow, queueKey } from '../store/rows.ts';
import type { Violations } from './violation.ts';

type Scheduled = Extract<WorkflowEvent, { type: 'TaskScheduled' }>;
type Open = Readonly<{ seq: number; event: Scheduled }>;

/** Counts what happened in which state: pairs that no world has seen are not tested by any. */
export type Coverage = Map<string, number>;

/** What a run that has ended may go on with. */
const REOPENING: ReadonlySet<string> = new Set([
  'ExecutionRetried',
  'ExecutionRerun',
  'TasksRerun',
  'ExecutionRestarted',
]);

export type RunWatchDeps = Readonly<{
  database: Database;
  violations: Violations;
  coverage: Coverage;
  /** An attempt ended that waited for a child, and not by the end of that. */
  onLeft: (run: ExecutionId, taskId: TaskId) => void;
}>;

/** One run as its log tells it, read event by event, and the tables held against that. */
export class RunWatch {
  readonly executionId: ExecutionId;
  seq = 0;
  status: ExecutionStatus | 'NEW' = 'NEW';
  readonly open = new Map<string, Open>();
  /** Messages that no task has taken yet, the oldest first. */
  messages: MessageReceived[] = [];
  /** Of a child: the attempt that waits for it. */
  parent: ParentLink | undefined;
  wasPaused = false;
  /** Somebody took it up again after its end, and no parent since. */
  isOnItsOwn = false;
  /** Something was taken back: attempts go on above all that were used. */
  private hasGaps = false;
  private definitionHash = '';
  private readonly attempts = new Map<string, number>();
  private readonly closedOperators = new Set<string>();
  private readonly completed = new Set<string>();
  /** Refs for which a signal came early: their waits may end before their time. */
  private readonly signalled = new Set<string>();
  private readonly database: Database;
  private readonly violations: Violations;
  private readonly coverage: Coverage;
  private readonly onLeft: (run: ExecutionId, taskId: TaskId) => void;

  constructor(executionId: ExecutionId, deps: RunWatchDeps) {
    this.executionId = executionId;
    this.database = deps.database;
    this.violations = deps.violations;
    this.coverage = deps.coverage;
    this.onLeft = deps.onLeft;
  }

  /** Wire refs of tasks that it has come to. */
  get slots(): readonly string[] {
    return [...this.attempts.keys(), ...this.closedOperators];
  }

  /** After each commit that touched the run. */
  check(): void {
    this.readOn();
    this.checkRow();
    this.checkTasks();
    this.checkTimers();
  }

  private broken(invariant: string, text: string): void {
    this.violations.add(invariant, `${this.executionId} ${text}`);
  }

  private readOn(): void {
    const { events } = this.database.tables;
    for (;;) {
      const row = events.find(queueKey(this.executionId, this.seq + 1))?.committed;
      if (row === undefined) return;
      this.seq = row.seq;
      this.take(row);
    }
  }

  private take({ seq, event }: EventRow): void {
    this.checkPlace(event);
    const pair = `${event.type} × ${this.status}`;
    this.coverage.set(pair, (this.coverage.get(pair) ?? 0) + 1);
    switch (event.type) {
      case 'ExecutionStarted':
        this.status = 'RUNNING';
        this.parent = event.parent;
        this.definitionHash = event.definitionHash;
        return;
      case 'ExecutionResumed':
        this.status = 'RUNNING';
        return;
      case 'ExecutionRestarted':
        this.messages = [];
        this.definitionHash = event.definition?.definitionHash ?? this.definitionHash;
        this.status = 'RUNNING';
        return this.takeBack(true);
      case 'ExecutionRerun':
        if (event.from === undefined) this.messages = [];
        this.status = 'RUNNING';
        return this.takeBack(true);
      case 'TasksRerun':
        this.takeBack(this.status !== 'PAUSED');
        if (this.status !== 'PAUSED') this.status = 'RUNNING';
        return;
      case 'ExecutionJumped':
        return this.takeBack(false);
      case 'ExecutionUpgraded':
        this.hasGaps = true;
        this.definitionHash = event.definition.definitionHash;
        return;
      case 'TaskSkipped':
        if (event.attempt !== undefined) this.takeAway({ ...event, attempt: event.attempt });
        return;
      case 'TaskCanceled':
        this.wasPaused = true;
        this.status = 'PAUSED';
        return this.takeAway(event);
      case 'ExecutionRetried':
        this.status = 'RUNNING';
        this.closedOperators.clear();
        this.parent = event.parent ?? this.parent;
        this.isOnItsOwn = event.parent === undefined;
        return;
      case 'ExecutionAdopted':
        this.parent = event.parent;
        this.isOnItsOwn = false;
        return;
      case 'CompensationStarted':
        // What is open is canceled by it, as by an end.
        this.endOpen();
        return;
      case 'ExecutionPaused':
        this.wasPaused = true;
        this.status = 'PAUSED';
        return;
      case 'ExecutionClosed':
        this.status = event.status;
        this.endOpen();
        return;
      case 'TaskScheduled':
        this.takeAttempt(event);
        this.open.set(attemptKey(event), { seq, event });
        return;
      case 'TaskRefused':
        this.takeAttempt(event);
        return;
      case 'TaskClosed':
        this.takeClosed(event);
        return;
      case 'MessageReceived':
        this.messages.push(event);
        return;
      case 'SignalBuffered':
        this.signalled.add(event.ref);
        return;
      case 'OperatorClosed':
        if (this.closedOperators.has(keyOf(event))) this.broken('16', `${keyOf(event)} closed twice`);
        this.closedOperators.add(keyOf(event));
        return;
      default:
        return;
    }
  }

  /** Tasks that had completed run again, with attempts above all that were used. */
  private takeBack(isReopened: boolean): void {
    this.hasGaps = true;
    this.closedOperators.clear();
    this.completed.clear();
    if (isReopened) this.isOnItsOwn = true;
  }

  /** An operator ended an open attempt. */
  private takeAway(attempt: Readonly<{ ref: string; iteration: number; attempt: number }>): void {
    const key = attemptKey(attempt);
    const open = this.open.get(key);
    if (open === undefined) return this.broken('6', `${key} was taken away and not open`);
    this.open.delete(key);
    this.leave(open);
  }

  private endOpen(): void {
    for (const open of this.open.values()) this.leave(open);
    this.open.clear();
  }

  private leave({ seq, event }: Open): void {
    if (event.taskType === 'SUB_WORKFLOW') this.onLeft(this.executionId, taskIdOf(this.executionId, seq));
  }

  /** 1: history begins with its start, once, and nothing follows the end but what reopens it. */
  private checkPlace(event: WorkflowEvent): void {
    if ((event.type === 'ExecutionStarted') !== (this.status === 'NEW')) this.broken('1', `${event.type} is misplaced`);
    const isOver = this.status !== 'NEW' && isClosedExecution(this.status);
    if (isOver && !REOPENING.has(event.type)) this.broken('1', `${event.type} follows the end`);
  }

  /** 4: attempts are 1 to n, but where something was taken back. An operator that was refused has none: a retry enters it as if for the first time. */
  private takeAttempt(event: Scheduled | Extract<WorkflowEvent, { type: 'TaskRefused' }>): void {
    const slot = keyOf(event);
    const last = event.type === 'TaskRefused' && event.attempt === 1 ? 0 : (this.attempts.get(slot) ?? 0);
    const follows = this.hasGaps ? event.attempt > last : event.attempt === last + 1;
    if (!follows) this.broken('4', `${slot} goes from attempt ${last} to ${event.attempt}`);
    this.attempts.set(slot, event.attempt);
  }

  private takeClosed(event: Extract<WorkflowEvent, { type: 'TaskClosed' }>): void {
    const key = attemptKey(event);
    const open = this.open.get(key);
    if (open === undefined) return this.broken('6', `${key} was closed and not open`);
    this.open.delete(key);
    if (event.output.subWorkflowId !== open.event.child?.executionId) this.leave(open);
    this.takeMessages(key, event);
    const { fireAt } = open.event;
    const isBySignal = this.signalled.has(event.ref.replace(/(__\d+)+$/, ''));
    const isByClock = event.workerId === undefined && event.status === 'COMPLETED' && !isBySignal;
    if (isByClock && fireAt !== undefined && event.at < fireAt)
      this.broken('10', `${key} fired ${fireAt - event.at} ms early`);
    if (event.status !== 'COMPLETED') return;
    if (this.completed.has(keyOf(event))) this.broken('6', `${keyOf(event)} was completed twice`);
    this.completed.add(keyOf(event));
  }

  /** 24: a task that reads messages gets the oldest, each once. */
  private takeMessages(
    key: string,
    { messagesTaken = 0, output }: Extract<WorkflowEvent, { type: 'TaskClosed' }>,
  ): void {
    if (messagesTaken === 0) return;
    const taken = this.messages.splice(0, messagesTaken).map(({ id }) => id);
    const shown = Array.isArray(output.messages) ? output.messages : [];
    const told = shown.map((message) => (isJsonObject(message) ? message.id : undefined));
    if (taken.length !== messagesTaken || canonicalJson(taken) !== canonicalJson(told as string[])) {
      this.broken('24', `${key} took the messages ${told} and not ${taken}`);
    }
  }

  private checkRow(): void {
    const row = this.database.tables.executions.find(this.executionId)?.committed;
    if (row === undefined) {
      if (this.status !== 'NEW') this.broken('2', 'has a log and no row');
      return;
    }
    if (row.status !== this.status) this.broken('2', `is ${row.status} in its row and ${this.status} in its log`);
    if (row.definitionHash !== this.definitionHash)
      this.broken('2', 'follows one definition and its row names another');
    if (isClosedExecution(row.status) !== (row.endedAt !== undefined)) this.broken('2', 'has no end, or one too many');
  }

  /** 2, 8: the open attempts are those of the queue; and what waits in a mailbox has somebody coming to read it (21). */
  private checkTasks(): void {
    const { taskQueue, decideQueue, closedTasks } = this.database.tables;
    const rows = taskQueue.committedOf(this.executionId);
    if (rows.length !== this.open.size) {
      const found = rows.map((row) => attemptKey(row.task)).sort();
      this.broken(
        rows.length > 0 && this.open.size === 0 ? '8' : '2',
        `open are ${[...this.open.keys()]}, queued ${found}`,
      );
    }
    const told = new Set(decideQueue.find(this.executionId)?.committed?.reported);
    for (const row of rows) {
      const key = attemptKey(row.task);
      if (this.open.get(key)?.seq !== row.seq) this.broken('2', `${key} is queued and not open`);
      if (row.outcome !== undefined && !told.has(row.seq))
        this.broken('21', `${key} has an outcome that nobody will read`);
      if (closedTasks.find(closedKey(this.executionId, row.task))?.committed !== undefined) {
        this.broken('2', `${key} is open and on record as closed`);
      }
    }
  }

  /** 8, 10: timers belong to open attempts, and a wait that ends by the clock has one. */
  private checkTimers(): void {
    const { timers, taskQueue } = this.database.tables;
    const isOver = this.status === 'NEW' || isClosedExecution(this.status);
    const armed = new Set<string>();
    for (const timer of timers.committedOf(this.executionId)) {
      const key = attemptKey(timer);
      if (isOver) this.broken('8', `has a timer ${key} ${timer.purpose} and is ${this.status}`);
      else if (timer.purpose !== 'EXECUTION' && !this.open.has(key))
        this.broken('10', `the timer of ${key} is an orphan`);
      if (timer.purpose === 'WAIT') armed.add(key);
    }
    for (const [key, { seq, event }] of this.open) {
      if (event.fireAt === undefined || armed.has(key)) continue;
      const row = taskQueue.find(queueKey(this.executionId, seq))?.committed;
      if (row !== undefined && row.outcome === undefined) this.broken('10', `${key} waits for a timer that is gone`);
    }
  }
}
