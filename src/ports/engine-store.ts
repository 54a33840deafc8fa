import type { Admission, AdmissionRequest } from '../domain/execution/admit.ts';
import type { Command, QueuedFamily, TimerPurpose } from '../domain/execution/commands.ts';
import type { SequencedEvent, TaskSlot, WorkflowEvent } from '../domain/execution/events.ts';
import type { OutputKey } from '../domain/execution/output-cache.ts';
import type { TaskOutcome } from '../domain/execution/requests.ts';
import type { ExecutionStatus, ResultStatus } from '../domain/execution/statuses.ts';
import type { ExecutionId, Instant, LeaseToken, Namespace, TaskId } from '../domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../domain/kernel/json.ts';
import type { DefinitionStore } from './definition-store.ts';
import type { EventHandlerTx } from './event-handler-store.ts';
import type { RetryCount } from './limits.ts';
import type { RunStart } from './run-start.ts';
import type { ScheduleTx } from './schedule-store.ts';

/** The locked row of one run: what a pass needs before it reads the log. */
export type ExecutionHead = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  status: ExecutionStatus;
  definitionHash: string;
}>;

export type LockedExecutions = Readonly<{
  /** The database's clock after the locks were taken: the `now` of the pass. */
  now: Instant;
  /** In id order. Ids that do not exist (any more) are absent. */
  heads: readonly ExecutionHead[];
}>;

export type EnqueueTask = Extract<Command, { type: 'EnqueueTask' }>;
export type CloseTask = Extract<Command, { type: 'CloseTask' }>;
export type ArmTimer = Extract<Command, { type: 'ArmTimer' }>;
export type CancelTimers = Extract<Command, { type: 'CancelTimers' }>;
export type ProjectExecution = Extract<Command, { type: 'ProjectExecution' }>;
export type ReviseExecution = Extract<Command, { type: 'ReviseExecution' }>;
export type PublishMessage = Extract<Command, { type: 'PublishMessage' }>;
export type StoreTaskOutput = Extract<Command, { type: 'StoreTaskOutput' }>;
export type { OutputKey };

export type NamedQueue = Readonly<{ namespace: Namespace; queue: string }>;

/** Something owed to one run, at its namespace. */
export type Owed<T> = Readonly<{ namespace: Namespace; executionId: ExecutionId; item: T }>;

export type NewExecution = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  definitionHash: string;
  name: string;
  version: number;
  input: JsonObject;
  priority: number;
  correlationId?: string;
  idempotencyKey?: string;
  parentExecutionId?: ExecutionId;
  startedAt: Instant;
}>;

export type IdempotencyClaim = Readonly<{
  namespace: Namespace;
  key: string;
  executionId: ExecutionId;
  /** Hash of name, version and input: another request under the same key is refused. */
  fingerprint: string;
}>;

/** A key that is one of the workflow of that name, and not of the whole namespace. */
export const workflowKey = (name: string, key: string): string => `${name}\n${key}`;

export type IdempotencyHolder = Readonly<{ executionId: ExecutionId; fingerprint: string; status: ExecutionStatus }>;

export type LeaseRequest = Readonly<{
  /** Undefined: the system tasks of every namespace, for their runner. A namespace: what it has for workers. */
  namespace: Namespace | undefined;
  /** Served in this order until `count` is reached. */
  queues: readonly string[];
  workerId: string;
  count: number;
  /** Absent: each task's own heartbeat time. */
  leaseMs?: number;
  /** Tokens for the tasks, at least `count`: one each. */
  tokens: readonly LeaseToken[];
}>;

export type LeasedTask = Readonly<
  TaskSlot & {
    taskId: TaskId;
    executionId: ExecutionId;
    namespace: Namespace;
    taskType: string;
    taskName: string;
    queue: string;
    attempt: number;
    priority: number;
    input: JsonValue;
    leaseToken: LeaseToken;
    leaseExpiresAt: Instant;
    scheduledAt: Instant;
    /** First lease of this attempt; a released and re-leased attempt keeps it. */
    startedAt: Instant;
    workerId: string;
    /** How long a lease of it lasts without a sign of life, where its holder asks for no other time. */
    heartbeatMs: number;
    /** Of an attempt that was put off: how often, the seconds asked for last, and what its worker left for the next look. */
    callbacks?: number;
    callbackSeconds?: number;
    progress?: JsonValue;
  }
>;

export type TaskReport = Readonly<{
  taskId: TaskId;
  leaseToken: LeaseToken;
  status: ResultStatus;
  output: JsonObject;
  reason?: string;
}>;

/**
 * `settled`: first time. `repeated`: the very same report, token and body, was settled before, whether or not a pass has
 * closed the attempt since. `leaseLost`: another token or another body, ended by something else, or gone.
 */
export type ReportOutcome = 'settled' | 'repeated' | 'leaseLost';

/** An attempt that a step opens, and the poll that it is leased to on the way, if one waits for it. */
export type OpenedTask = Readonly<{
  task: EnqueueTask;
  lease?: Readonly<{ leaseToken: LeaseToken; workerId: string; leaseMs?: number }>;
}>;

/**
 * All that reports and what follows from them make of one run, decided from a fold that may be out of date: written whole
 * or not at all.
 */
export type RunStep = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  /** Reports of lease holders, each of another attempt: each must still be the first of its attempt, under its token. */
  reports: readonly TaskReport[];
  /** Gap-free, at least one. The log must end right before them. */
  events: readonly SequencedEvent[];
  closed: readonly CloseTask[];
  opened: readonly OpenedTask[];
  armed: readonly ArmTimer[];
  disarmed: readonly CancelTimers[];
  /** What the run had open is over, and its timers so far go. It must have no open attempt but the reported ones. */
  endsWork: boolean;
  projection?: ProjectExecution;
  messages: readonly PublishMessage[];
}>;

export type SteppedRuns = Readonly<{
  /** The steps that were written; of the others nothing was. */
  stepped: ReadonlySet<ExecutionId>;
  /** Of what they opened, what was leased on the way: a task of a name with a limit never is. */
  leased: readonly LeasedTask[];
  /** The store's clock, where it was read. */
  now?: Instant;
}>;

export type LeaseRef = Readonly<{ taskId: TaskId; leaseToken: LeaseToken }>;

export type Heartbeat = Readonly<LeaseRef & { leaseMs?: number; progress?: JsonValue }>;
/** A lease given back with a time before which nobody takes the attempt; `progress` is what its next holder goes on from. */
export type Deferral = Readonly<LeaseRef & { delayMs: number; progress?: JsonValue }>;

/** The longest that an attempt can be put off, in milliseconds: about thirty years, which is until somebody else ends it. */
export const DEFERRAL_MS_MAX = 1_000_000_000_000;

export type HeartbeatOutcome = Readonly<{ kind: 'extended'; leaseExpiresAt: Instant } | { kind: 'leaseLost' }>;

/** An attempt that is to be leased again after a time, with what its worker has of it so far. */
export type PutOff = Readonly<{
  taskId: TaskId;
  /** Absent: the attempt is held by nobody. */
  leaseToken?: LeaseToken;
  afterSeconds: number;
  progress: JsonValue;
}>;

/** Who holds an attempt that is open and has no outcome; without a token, nobody. */
export type OpenLease = Readonly<{
  family: QueuedFamily;
  queue: string;
  leaseToken?: LeaseToken;
  workerId?: string;
}>;

export type LogLine = Readonly<{ at: Instant; line: string }>;

export type OutboxMessage = Readonly<{
  id: string;
  namespace: Namespace;
  executionId: ExecutionId;
  topic: string;
  dedupKey: string;
  orderingKey: string;
  payload: JsonObject;
  attempts: number;
}>;

/**
 * What ended a waiting attempt: a child, a person, a callback, a message. `by` names who it was, for the history.
 */
export type WaitingOutcome = Readonly<{
  taskId: TaskId;
  status: TaskOutcome['status'];
  output: JsonObject;
  reason?: string;
  by?: string;
}>;

export type NewInternalEvent = Readonly<{
  namespace: Namespace;
  /** Absent: it came from outside. */
  executionId?: ExecutionId;
  sink: string;
  messageId: string;
  payload: JsonObject;
}>;

export type DeliveryFailure = Readonly<{ id: string; reason: string; retryAfterMs: number; dead: boolean }>;

export type DueTimer = Readonly<TaskSlot & { executionId: ExecutionId; attempt: number; purpose: TimerPurpose }>;
export type FiredTimers = Readonly<{ evaluated: readonly ExecutionId[]; underLock: readonly DueTimer[] }>;

export type QueueName = Readonly<{ namespace: Namespace; queue: string }>;

/** Definitions as a transaction reads them, on its own connection. */
export type DefinitionReads = Pick<DefinitionStore, 'findTasks' | 'findBundles' | 'findWorkflow'>;

/** What a decision asks for only where a definition makes it: a name at run time, a cache, several domains, a retry budget. */
export type DecisionReads = Pick<DefinitionReads, 'findTasks'> &
  Readonly<{
    /** What a task of the name gave for the key, if that has not expired. */
    findTaskOutput(namespace: Namespace, wanted: OutputKey, now: Instant): Promise<JsonObject | undefined>;
    /** Environment values of the namespace by name, `*` for all; what is not there is absent. */
    findEnvironment(namespace: Namespace, names: readonly string[]): Promise<ReadonlyMap<string, string>>;
    /** Those of the queues that were noted as polled within the time. */
    polledQueues(namespace: Namespace, queues: readonly string[], withinMs: number): Promise<ReadonlySet<string>>;
    /** Attempts closed and retried in the last minutes, as far as they were added, by task name; absent: none. */
    retryCounts(namespace: Namespace, taskNames: readonly string[]): Promise<ReadonlyMap<string, RetryCount>>;
  }>;

/** A live row of the task queue: what a read lays over the fold. */
export type OpenTaskRow = Readonly<
  TaskSlot & {
    taskId: TaskId;
    attempt: number;
    family: QueuedFamily;
    queue: string;
    leased: boolean;
    workerId?: string;
    leaseExpiresAt?: Instant;
    startedAt?: Instant;
    visibleAt: Instant;
    progress?: JsonValue;
    /** How often it was put off, and the seconds asked for last; absent: never. */
    callbacks?: number;
    callbackSeconds?: number;
    hasOutcome: boolean;
  }
>;

export type ParkedEvaluation = Readonly<{
  executionId: ExecutionId;
  attempts: number;
  retryAfterMs: number;
  reason: string;
}>;

/**
 * The writes. They exist only on this object, so a write outside a transaction does not compile.
 * Everything takes its locks in this order: schedules, decide queue, executions, task queue, limits, timers, outbox, caches;
 * every statement that touches several rows does so in id order.
 */
export interface EngineTx
  extends DefinitionReads,
    DecisionReads,
    Pick<DefinitionStore, 'putBundle'>,
    ScheduleTx,
    EventHandlerTx {
  /**
   * Claims (deletes) up to `limit` due decide rows, skipping those that others hold, and then locks their executions in
   * id order. Nothing of a run may be read before this (promise 1).
   */
  claimEvaluations(limit: number): Promise<LockedExecutions>;
  /** The same for named runs, waiting for rows that others hold; runs without a decide row are locked all the same. */
  claimEvaluationsOf(executionIds: readonly ExecutionId[]): Promise<LockedExecutions>;
  /** Asks for a pass: an upsert that locks (promise 2). Also un-parks. What was reported stays to be read. */
  requestEvaluations(executionIds: readonly ExecutionId[]): Promise<void>;
  /** Puts a claimed row back, and what it told of, with a delay and the reason: a poison run must not stop the others. */
  parkEvaluation(parked: ParkedEvaluation): Promise<void>;

  /** The log after the given seq of each run, in seq order. */
  readEvents(after: ReadonlyMap<ExecutionId, number>): Promise<ReadonlyMap<ExecutionId, readonly SequencedEvent[]>>;
  /**
   * Outcomes on open task rows that were reported since the last pass, in the order they were reported: of the named runs
   * those that this transaction has claimed, for the decide row is what tells of them. A claim that is rolled back, or
   * parked, tells the next one of them again; one that commits has read them for good.
   */
  readOutcomes(executionIds: readonly ExecutionId[]): Promise<ReadonlyMap<ExecutionId, readonly TaskOutcome[]>>;
  /** All outcomes on open task rows of a run, whether anything tells of them or not: for a repair. */
  readAllOutcomes(executionId: ExecutionId): Promise<readonly TaskOutcome[]>;
  /** Ids of the attempts that are open in the queue: what a repair compares with the fold. */
  openTaskIds(executionId: ExecutionId): Promise<readonly TaskId[]>;
  /** Appends; a seq that exists already is an error, since the execution lock makes it impossible. */
  appendEvents(events: readonly Owed<SequencedEvent>[]): Promise<void>;

  /** Opens attempts. Returns the runs for which at least one identity existed already (absorbed duplicates). */
  enqueueTasks(tasks: readonly Owed<EnqueueTask>[]): Promise<ReadonlySet<ExecutionId>>;
  /** Deletes the queue rows of ended attempts and records the closed attempts, with what tells a repeated report. */
  closeTasks(tasks: readonly Owed<CloseTask>[]): Promise<void>;
  /** Deletes all open attempts (recording them CANCELED) and timers of ended runs. */
  cancelOpenWork(ended: readonly Readonly<{ executionId: ExecutionId; at: Instant }>[]): Promise<void>;
  armTimers(timers: readonly Owed<ArmTimer>[]): Promise<void>;
  cancelTimers(timers: readonly Owed<CancelTimers>[]): Promise<void>;
  projectExecutions(projections: readonly Owed<ProjectExecution>[]): Promise<void>;
  /** What an operator action changed of a run beside its status: the definition it follows, its input, its correlation. */
  reviseExecutions(revisions: readonly Owed<ReviseExecution>[]): Promise<void>;
  putMessages(messages: readonly Owed<PublishMessage>[]): Promise<void>;

  /** The database's clock, and the run if there is one; without any lock. */
  lookUpRun(
    executionId: ExecutionId,
    startsIn?: Namespace,
  ): Promise<Readonly<{ now: Instant; head?: ExecutionHead; isLimited: boolean }>>;
  /** Keeps outputs for other runs; the last of several for one key counts. */
  storeTaskOutputs(outputs: readonly Owed<StoreTaskOutput>[]): Promise<void>;
  /** Deletes expired outputs, those first that expired first. Returns how many. */
  pruneTaskOutputs(limit: number): Promise<number>;
  /** Notes that queues are being polled now. */
  notePolls(queues: readonly NamedQueue[]): Promise<void>;
  prunePolls(olderThanMs: number): Promise<number>;

  createExecutions(executions: readonly NewExecution[]): Promise<void>;
  /**
   * Takes a place, or a place in the queue, for each run at all its limits, those of its namespace included, or says which
   * one has no room. Exact, since it holds advisory locks of all limits that are asked for (promise 9): they come after the
   * locks of executions. A refused run has taken nothing.
   */
  admitExecutions(requests: readonly AdmissionRequest[]): Promise<readonly Admission[]>;
  /**
   * Gives a queued run its place if there is one and it is its turn: first in, first out for each key, passing by those who
   * are paused or were postponed. Under the lock of the run.
   */
  admitQueued(executionId: ExecutionId): Promise<boolean>;
  /** Lets the others of its key by for a while: the run could not be evaluated. */
  postponeAdmission(executionId: ExecutionId, delayMs: number): Promise<void>;
  /** Frees the places of runs that ended, and takes them out of queues. */
  releaseAdmissions(executionIds: readonly ExecutionId[]): Promise<void>;
  /**
   * Removes a run that has ended and all that is known of it, under its lock: history, tasks, logs, dead letters, its
   * idempotency key. `undelivered`: a message of it is still owed, and nothing was removed.
   */
  deleteExecution(executionId: ExecutionId): Promise<'deleted' | 'undelivered'>;
  /**
   * Wins or loses each key; returns the ids of the runs that won theirs. A loser looks the winner up after its own
   * transaction ended. Of several claims of one call for the same key the first wins.
   */
  claimIdempotencyKeys(claims: readonly IdempotencyClaim[]): Promise<ReadonlySet<ExecutionId>>;
  /** Who holds a key that this transaction lost, to the statements after that. */
  findIdempotencyHolder(namespace: Namespace, key: string): Promise<IdempotencyHolder | undefined>;
  /**
   * Takes keys from runs that have ended; returns the ids of the runs that got theirs. The holders are locked first, so that
   * none is reopened meanwhile and of several takers one wins: to be called after the claims, before any other write.
   */
  takeOverIdempotencyKeys(claims: readonly IdempotencyClaim[]): Promise<ReadonlySet<ExecutionId>>;
  /** Gives keys back that these runs hold. */
  releaseIdempotencyKeys(keys: readonly Pick<IdempotencyClaim, 'namespace' | 'key' | 'executionId'>[]): Promise<void>;

  /**
   * Sets outcomes, fenced by the token in the outer WHERE, and asks for the passes. The decide rows are taken first.
   * One answer per report, in order.
   */
  settleTasks(namespace: Namespace | undefined, reports: readonly TaskReport[]): Promise<readonly ReportOutcome[]>;
  /**
   * Sets outcomes on waiting attempts that are open and have none, and asks for the passes. The decide rows are taken first.
   * Returns the attempts that took theirs; the others have ended, or are about to.
   */
  settleWaiting(namespace: Namespace, outcomes: readonly WaitingOutcome[]): Promise<ReadonlySet<TaskId>>;
  /**
   * Keeps an open attempt that has no outcome from closing until this transaction ends; false: there is no such one any
   * more. Takes no decide row, so nothing of its run may be asked for afterwards.
   */
  holdAttempt(namespace: Namespace, taskId: TaskId): Promise<boolean>;
  leaseTasks(request: LeaseRequest): Promise<readonly LeasedTask[]>;
  heartbeat(namespace: Namespace, heartbeats: readonly Heartbeat[]): Promise<readonly HeartbeatOutcome[]>;
  /** Gives leases back: the same attempt is visible again at once and counts no attempt. */
  releaseLeases(
    namespace: Namespace | undefined,
    leases: readonly LeaseRef[],
  ): Promise<readonly Readonly<{ namespace: Namespace; queue: string }>[]>;
  /**
   * Gives leases back for later: the same attempt is visible again after its delay, and counts no attempt. Fenced by the
   * token. One answer a deferral, in order: false where the lease was lost.
   */
  deferTasks(namespace: Namespace | undefined, deferrals: readonly Deferral[]): Promise<readonly boolean[]>;
  /**
   * What `deferTasks` does, at the wish of a worker, which is counted, or of somebody without a lease. The attempt keeps its
   * first start, and its next holder gets the progress; of a waiting one only the progress is kept. Fenced by the token, or
   * by there being none.
   */
  putOffTask(
    namespace: Namespace,
    putOff: PutOff,
  ): Promise<Readonly<{ queue: string; visibleAt: Instant }> | undefined>;
  /** Fenced: false when the token is not the current one. */
  appendLogs(namespace: Namespace, lease: LeaseRef, lines: readonly LogLine[]): Promise<boolean>;
  /** Lines from somebody who holds no lease, of an attempt that may have ended: false when the run has no such attempt. */
  appendTaskLogs(namespace: Namespace, taskId: TaskId, lines: readonly LogLine[]): Promise<boolean>;

  /**
   * Ends attempts whose lease expired: sets the outcome TIMED_OUT / HEARTBEAT on the row, after taking the decide rows
   * and checking the expiry again under the row lock. Returns the runs to evaluate.
   */
  expireLeases(limit: number): Promise<readonly ExecutionId[]>;
  /**
   * Fires due task timers: the outcome (COMPLETED for WAIT, TIMED_OUT else) goes on the open row if it has none; the
   * timers go. A SCHEDULE_TO_START that finds its task leased once only goes. Timers that end nothing by themselves
   * (EXECUTION, and alertOnly ones) stay and are returned, for the use case that takes the execution lock.
   */
  fireTimers(limit: number): Promise<FiredTimers>;
  /**
   * Removes timers that a use case deals with under the execution lock, those alone that are still due: one that was armed
   * anew meanwhile is another timer. Returns how many it removed.
   */
  dropTimers(timers: readonly DueTimer[]): Promise<number>;
  /** Puts off timers whose handling failed, so that they keep nobody else's from firing. */
  postponeTimers(timers: readonly DueTimer[], delayMs: number): Promise<void>;

  /**
   * Takes up to `limit` messages in hand, one per ordering key, those first that have been deliverable for longest, and
   * returns them oldest first. They are dealt with outside this transaction; a holder that vanishes loses nothing, since
   * after `holdMs` they are deliverable again.
   */
  claimMessages(limit: number, holdMs: number): Promise<readonly OutboxMessage[]>;
  /** Returns how many of them were still there: what another has delivered meanwhile is gone. */
  markDelivered(ids: readonly string[]): Promise<number>;
  markFailed(failures: readonly DeliveryFailure[]): Promise<void>;
  /**
   * Makes dead letters deliverable again, as if never tried, each at its old place in the order of its key. Returns how many
   * of them the namespace had.
   */
  redriveDeadLetters(namespace: Namespace, ids: readonly string[]): Promise<number>;
  deleteDeadLetters(namespace: Namespace, ids: readonly string[]): Promise<number>;
  /** Keeps what was sent to the internal sink; of each sink the newest `keepMax`. */
  recordInternalEvent(event: NewInternalEvent, keepMax: number): Promise<void>;

  /** Adds what was counted of closed attempts, to the time of now. */
  addRetryCounts(counts: readonly RetryCount[]): Promise<void>;
  /** Deletes counts and rate windows that nothing reads any more, some at a time. Returns how many. */
  forgetPastLimits(): Promise<number>;
}

/** The only door to the writes, and the reads that decide nothing. */
export interface EngineStore extends Omit<DecisionReads, 'findTasks'> {
  /**
   * Runs `work` in one READ COMMITTED transaction: rolls back on a throw, retries serialization failures and deadlocks
   * with jitter (so `work` must be re-runnable), checks that COMMIT answered COMMIT, destroys broken connections.
   */
  transaction<T>(work: (tx: EngineTx) => Promise<T>): Promise<T>;
  /**
   * The lease of one poll, as `EngineTx.leaseTasks`: where nothing in the namespace is limited, in a single statement that
   * is a transaction by itself.
   */
  leaseTasks(request: LeaseRequest): Promise<readonly LeasedTask[]>;
  /** The reports of one call, as `EngineTx.settleTasks`, in a single statement that is a transaction by itself. */
  settleTasks(namespace: Namespace | undefined, reports: readonly TaskReport[]): Promise<readonly ReportOutcome[]>;
  /**
   * Takes several runs one step further, one step a run, in a single statement that is a transaction by itself. A step is
   * left alone when its run is not RUNNING or is locked by another, when a report of it does not hold, or when a step of
   * the call meets what its fold did not know of (an event at the same seq, an identity that exists): then all are. What
   * is left alone takes the longer road: report, pass, lease. It asks for no pass and claims no decide row, since a pass
   * that finds the outcome dealt with is free (promise 3); an outcome that waits on another attempt keeps its own.
   */
  stepRuns(steps: readonly RunStep[]): Promise<SteppedRuns>;
  /**
   * Puts runs on record with their first steps, in a single statement that is a transaction by itself. A start is left
   * alone when its key is taken, its definitions are not what was pinned, or a quota limits the starts of its namespace.
   */
  startRuns(starts: readonly RunStart[]): Promise<SteppedRuns>;
  now(): Promise<Instant>;
  /** The same, and in which of the namespaces a quota limits starts: one statement for all starts of a batch. */
  startContext(namespaces: readonly Namespace[]): Promise<Readonly<{ now: Instant; limited: ReadonlySet<Namespace> }>>;
  /** Queued runs that could be admitted as things stand, those first that have waited for longest. Only `admitQueued` decides. */
  findAdmissible(limit: number): Promise<readonly ExecutionId[]>;
  findIdempotencyHolder(namespace: Namespace, key: string): Promise<IdempotencyHolder | undefined>;
  /** One fact by its place in the log, whoever's it is: for callers that prove by other means that they may know it. */
  findEvent(
    executionId: ExecutionId,
    seq: number,
  ): Promise<Readonly<{ namespace: Namespace; event: WorkflowEvent }> | undefined>;
  findHead(namespace: Namespace, executionId: ExecutionId): Promise<ExecutionHead | undefined>;
  /** Undefined: there is no such attempt in the namespace, it has ended, or its outcome is there. */
  findOpenLease(namespace: Namespace, taskId: TaskId): Promise<OpenLease | undefined>;
  /** Milliseconds until the next decide row, lease expiry or timer is due; undefined when none is. Loops sleep by it. */
  nextDueInMs(): Promise<Readonly<{ evaluation?: number; timer?: number; lease?: number; message?: number }>>;
  /**
   * Which of the queues have a task to lease: the one backstop query for all parked polls. A queue whose next task a limit
   * holds back is told with the milliseconds after which to look again.
   */
  readyQueues(candidates: readonly QueueName[]): Promise<readonly Readonly<QueueName & { opensInMs?: number }>[]>;
  /** Runs that are RUNNING, idle for `idleMs`, with nothing that could wake them. Must find none. */
  findStuck(idleMs: number, limit: number): Promise<readonly ExecutionId[]>;
}
