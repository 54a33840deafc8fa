import type { Plan } from '../../src/domain/definition/plan.ts';
import type { TaskDefinition } from '../../src/domain/definition/task-definition.ts';
import { accept } from '../../src/domain/execution/accept.ts';
import type { Command } from '../../src/domain/execution/commands.ts';
import { applyAccepted, type Decision, decideOwned } from '../../src/domain/execution/decide.ts';
import {
  type DeadlineKind,
  SEMANTICS,
  type SequencedEvent,
  type WorkflowEvent,
} from '../../src/domain/execution/events.ts';
import { projectView } from '../../src/domain/execution/project-view.ts';
import type { ExecutionRequest, Rejection, TaskOutcome } from '../../src/domain/execution/requests.ts';
import { type ExecutionState, emptyState } from '../../src/domain/execution/state.ts';
import type { ReportStatus } from '../../src/domain/execution/statuses.ts';
import { keyOf } from '../../src/domain/execution/task-key.ts';
import type { ExecutionView, TaskView } from '../../src/domain/execution/view.ts';
import { addMs, type ExecutionId, type Instant, type Namespace } from '../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import type { DecisionEnvironment } from '../../src/domain/tasks/task-semantics.ts';
import { planOf, type Step, taskDefinitionsOf, type Workflow } from './builders.ts';
import { checkAll, type Driven } from './kernel-checks.ts';
import { findViolation } from './schemas.ts';
import { evaluateScript } from './scripts.ts';
import { deepFreeze } from './snapshot.ts';

export type OpenTask = Extract<Command, { type: 'EnqueueTask' }>;
export type Timer = Extract<Command, { type: 'ArmTimer' }>;

const EXECUTION_ID = '01890000-0000-7000-8000-000000000001' as ExecutionId;
export const START = Date.UTC(2030, 0, 1) as Instant;

export type RunOptions = Readonly<{
  input?: JsonObject;
  started?: Partial<Extract<WorkflowEvent, { type: 'ExecutionStarted' }>>;
  /** Facts of one decision, to cut decisions short. */
  eventsMax?: number;
  /** Decisions of one step: a step may end at the bound of a pass, with more to decide in the next. */
  decisionsMax?: number;
  /** The cache of outputs, by task name and key as JSON: shared by the runs that are given the same. */
  outputs?: Map<string, JsonObject>;
  /** Queues that workers poll. */
  polled?: readonly string[];
  /** Environment values; the tests change them as they go. */
  environment?: Readonly<Record<string, string>>;
  /** Off for runs so long that checking each step against the whole log would take the time. */
  checks?: boolean;
}>;

const timerKey = (timer: Pick<Timer, 'ref' | 'iteration' | 'attempt' | 'purpose'>): string =>
  `${keyOf(timer)}/${timer.attempt}/${timer.purpose}`;

/** A run driven by hand on virtual time. After every step it checks what must always hold of the kernel. */
export class Run implements Driven {
  readonly state: ExecutionState;
  readonly plans = new Map<string, Plan>();
  readonly log: SequencedEvent[] = [];
  readonly openTasks = new Map<string, OpenTask>();
  readonly timers = new Map<string, Timer>();
  readonly published: Command[] = [];
  /** What the decisions wanted to know of caches and polls. */
  readonly asked = new Set<string>();
  readonly stored: Extract<Command, { type: 'StoreTaskOutput' }>[] = [];
  readonly environment: DecisionEnvironment;
  now: Instant = START;
  private readonly options: RunOptions;

  constructor(workflow: Workflow, options: RunOptions = {}) {
    this.options = options;
    const plan = deepFreeze(planOf(workflow));
    const definitions = new Map(Object.entries(taskDefinitionsOf(workflow)));
    const loaded = new Map<string, TaskDefinition | null>();
    /** Undefined the first time that a thing is asked for. */
    const onceAsked = <T>(thing: string, value: () => T): T | undefined => {
      if (this.asked.has(thing)) return value();
      this.asked.add(thing);
      return undefined;
    };
    this.environment = {
      evaluateScript,
      findViolation,
      callbackToken: (taskId) => `token-of-${taskId}`,
      // Like the service, it has a definition only once it was asked for it.
      taskDefinition: (name) => {
        const known = loaded.get(name);
        loaded.set(name, definitions.get(name) ?? null);
        return known;
      },
      cachedOutput: (wanted) => {
        const key = JSON.stringify([wanted.taskName, wanted.key]);
        const { outputs = new Map() } = this.options;
        return onceAsked(key, () => outputs.get(key) ?? null);
      },
      environmentValues: () => this.options.environment ?? {},
      isPolled: (queue) => onceAsked(queue, () => options.polled?.includes(queue) ?? false),
    };
    this.plans.set(plan.hash, plan);
    this.state = emptyState(EXECUTION_ID, plan, this.plans);
    this.step([
      {
        type: 'ExecutionStarted',
        at: this.now,
        namespace: 'tests' as Namespace,
        definitionHash: plan.hash,
        name: plan.definition.name,
        version: plan.definition.version,
        input: options.input ?? {},
        variables: plan.definition.variables,
        priority: 0,
        semantics: SEMANTICS,
        ...options.started,
      },
    ]);
  }

  /** Folds accepted facts in, decides, and carries out the commands on the little store that this is. */
  private step(accepted: readonly WorkflowEvent[]): void {
    const before = this.log.length;
    this.carryOut(applyAccepted(this.state, deepFreeze(accepted)));
    this.decide(before, accepted);
  }

  private decide(before: number, accepted: readonly WorkflowEvent[]): void {
    const { eventsMax, decisionsMax = Number.POSITIVE_INFINITY } = this.options;
    for (let decisions = 0, more = true; more && decisions < decisionsMax; decisions += 1) {
      const decision = decideOwned(this.state, this.environment, this.now, eventsMax);
      this.carryOut(decision);
      more = decision.more || decision.needs.length > 0;
    }
    if (this.options.checks !== false) checkAll(this, before, accepted);
  }

  private carryOut(decision: Decision): void {
    for (const event of deepFreeze(decision.events)) this.log.push(event);
    for (const command of decision.commands) this.carry(command);
  }

  private carry(command: Command): void {
    switch (command.type) {
      case 'EnqueueTask':
        if (this.openTasks.has(command.taskId)) throw new Error(`${command.taskId} was queued twice`);
        this.openTasks.set(command.taskId, command);
        return;
      case 'CloseTask':
        if (!this.openTasks.delete(command.taskId)) throw new Error(`${command.taskId} was closed and not open`);
        return;
      case 'ArmTimer':
        this.timers.set(timerKey(command), command);
        return;
      case 'CancelTimers':
        for (const [key, timer] of this.timers) {
          if (keyOf(timer) === keyOf(command) && timer.attempt === command.attempt) this.timers.delete(key);
        }
        return;
      case 'CancelOpenWork':
        this.openTasks.clear();
        this.timers.clear();
        return;
      case 'StoreTaskOutput':
        this.options.outputs?.set(JSON.stringify([command.taskName, command.key]), command.output);
        this.stored.push(command);
        return;
      case 'ReleaseAdmission':
      case 'ReviewAdmissions':
        return;
      case 'ProjectExecution':
      case 'ReviseExecution':
      case 'PublishMessage':
        this.published.push(command);
        return;
      default:
        return command satisfies never;
    }
  }

  /** Puts a request to the run; what was refused changed nothing. */
  request(request: ExecutionRequest): Rejection | undefined {
    const answer = accept(this.state, deepFreeze(request), this.now, findViolation);
    if (!answer.ok) return answer.error;
    this.step(answer.value);
    return undefined;
  }

  /** Several outcomes that one pass finds at once; the refused ones are lost races. */
  requestAll(requests: readonly ExecutionRequest[]): void {
    const facts: WorkflowEvent[] = [];
    const before = this.log.length;
    for (const request of requests) {
      const answer = accept(this.state, deepFreeze(request), this.now, findViolation);
      if (!answer.ok) continue;
      facts.push(...answer.value);
      this.carryOut(applyAccepted(this.state, deepFreeze(answer.value)));
    }
    this.decide(before, facts);
  }

  private must(request: ExecutionRequest): this {
    const rejection = this.request(request);
    if (rejection !== undefined) throw new Error(`${request.type} was refused: ${rejection.code} ${rejection.message}`);
    return this;
  }

  /** The open attempt of a task by its wire ref. */
  task(key: string): OpenTask {
    for (const task of this.openTasks.values()) if (keyOf(task) === key) return task;
    throw new Error(`${key} is not open; open are: ${this.open().join(', ')}`);
  }

  outcomeOf(key: string, status: TaskOutcome['status'], rest: Partial<TaskOutcome> = {}): TaskOutcome {
    const { ref, iteration, attempt } = this.task(key);
    return { ref, iteration, attempt, status, output: {}, workerId: 'worker', startedAt: this.now, ...rest };
  }

  settle(key: string, status: TaskOutcome['status'], rest: Partial<TaskOutcome> = {}): this {
    return this.must({ type: 'SettleTask', outcome: this.outcomeOf(key, status, rest) });
  }

  complete(key: string, output: JsonObject = {}): this {
    return this.settle(key, 'COMPLETED', { output });
  }

  fail(key: string, reason = 'it broke'): this {
    return this.settle(key, 'FAILED', { reason });
  }

  failForGood(key: string, reason = 'it is broken'): this {
    return this.settle(key, 'FAILED_WITH_TERMINAL_ERROR', { reason });
  }

  timeOut(key: string, deadline: DeadlineKind): this {
    return this.settle(key, 'TIMED_OUT', { deadline, reason: `${deadline} passed` });
  }

  signal(ref: string | undefined, output: JsonObject = {}, status: ReportStatus = 'COMPLETED'): Rejection | undefined {
    return this.request({ type: 'Signal', ...(ref === undefined ? {} : { ref }), status, output, by: 'someone' });
  }

  /** A message for the run, named by its payload. */
  message(payload: JsonObject): Rejection | undefined {
    return this.request({ type: 'ReceiveMessage', id: JSON.stringify(payload), payload, by: 'someone' });
  }

  /** Ends an open task through its own door. */
  completeTask(
    key: string,
    output: JsonObject = {},
    rest: Partial<Extract<ExecutionRequest, { type: 'CompleteTask' }>> = {},
  ): Rejection | undefined {
    const scheduledSeq = Number(this.task(key).taskId.split('.')[1]);
    const request = { type: 'CompleteTask', scheduledSeq, status: 'COMPLETED', output, by: 'anna' } as const;
    return this.request({ ...request, ofWorkersToo: false, ...rest });
  }

  pause(): this {
    return this.must({ type: 'Pause', by: 'operator' });
  }

  resume(): this {
    return this.must({ type: 'Resume', by: 'operator' });
  }

  terminate(reason?: string): this {
    return this.must({ type: 'Terminate', by: 'operator', ...(reason === undefined ? {} : { reason }) });
  }

  retry(): this {
    return this.must({ type: 'Retry', by: 'operator' });
  }

  /** A plan that a restart or an upgrade may name. */
  offer(workflow: Workflow, hash: string): Plan {
    const plan = deepFreeze({ ...planOf(workflow), hash });
    this.plans.set(hash, plan);
    this.state.plans.set(hash, plan);
    return plan;
  }

  rerun(from?: string, rest: Partial<Extract<ExecutionRequest, { type: 'Rerun' }>> = {}): this {
    return this.must({ type: 'Rerun', by: 'operator', ...(from === undefined ? {} : { from }), ...rest });
  }

  rerunTasks(tasks: readonly string[], cascade: boolean): this {
    return this.must({ type: 'RerunTasks', by: 'operator', tasks, cascade });
  }

  restart(plan?: Plan): this {
    return this.must({ type: 'Restart', by: 'operator', ...(plan === undefined ? {} : { plan }) });
  }

  skip(ref: string, output?: JsonObject): this {
    return this.must({ type: 'SkipTask', by: 'operator', ref, ...(output === undefined ? {} : { output }) });
  }

  cancelTask(ref: string): this {
    return this.must({ type: 'CancelTask', by: 'operator', ref, reason: 'stuck' });
  }

  jump(to: string, input?: JsonObject): this {
    return this.must({ type: 'Jump', by: 'operator', to, ...(input === undefined ? {} : { input }) });
  }

  upgrade(plan: Plan, taskOutputs: Readonly<Record<string, JsonObject>> = {}): this {
    return this.must({ type: 'Upgrade', by: 'operator', plan, taskOutputs });
  }

  /** Lets time pass: every timer that comes due fires, the earliest first. */
  advance(ms: number): this {
    const until = addMs(this.now, ms);
    for (let due = this.nextTimer(until); due !== undefined; due = this.nextTimer(until)) this.fire(due);
    this.now = until;
    return this;
  }

  private nextTimer(until: Instant): Timer | undefined {
    return [...this.timers.values()]
      .filter((timer) => timer.fireAt <= until)
      .sort((a, b) => a.fireAt - b.fireAt || timerKey(a).localeCompare(timerKey(b)))[0];
  }

  fire(timer: Timer): void {
    if (timer.fireAt > this.now) this.now = timer.fireAt;
    // A timer that only alerts is gone once it fired; the others go with what they end.
    this.timers.delete(timerKey(timer));
    if (timer.purpose === 'EXECUTION') this.must({ type: 'PassExecutionDeadline' });
    else if (timer.purpose === 'WAIT') this.complete(keyOf(timer));
    else this.timeOut(keyOf(timer), timer.purpose);
  }

  /** Completes whatever is open until nothing is; workers answer with their input. */
  completeAll(outputOf: (task: OpenTask) => JsonObject = () => ({})): this {
    for (let next = this.openTasks.values().next(); next.done !== true; next = this.openTasks.values().next()) {
      this.complete(keyOf(next.value), outputOf(next.value));
    }
    return this;
  }

  /** Wire refs of the open attempts. */
  open(): readonly string[] {
    return [...this.openTasks.values()].map(keyOf).sort();
  }

  get status(): string {
    return this.state.lifecycle.status;
  }

  get output(): JsonObject {
    return 'output' in this.state.lifecycle ? this.state.lifecycle.output : {};
  }

  get reason(): string | undefined {
    return 'reason' in this.state.lifecycle ? this.state.lifecycle.reason : undefined;
  }

  get events(): readonly WorkflowEvent[] {
    return this.log.map(({ event }) => event);
  }

  eventsOf<T extends WorkflowEvent['type']>(type: T): readonly Extract<WorkflowEvent, { type: T }>[] {
    return this.events.filter((event) => event.type === type) as never;
  }

  get view(): ExecutionView {
    return projectView(EXECUTION_ID, this.log);
  }

  /** The last attempt of a task, as history tells it. */
  seen(key: string): TaskView {
    const found = this.view.tasks.filter((task) => keyOf(task) === key).at(-1);
    if (found === undefined) throw new Error(`history tells of no ${key}`);
    return found;
  }

  /** Wire refs of what completed, in the order of history. */
  completed(): readonly string[] {
    return this.view.tasks.filter((task) => task.status === 'COMPLETED').map(keyOf);
  }
}

export type { Step };
