import type { DefinitionProblem } from '../domain/definition/definition-problem.ts';
import type { Plan } from '../domain/definition/plan.ts';
import type { TaskDefinition } from '../domain/definition/task-definition.ts';
import type { Dialect, RateLimitConfig, WorkflowDefinition } from '../domain/definition/workflow-definition.ts';
import type { SequencedEvent } from '../domain/execution/events.ts';
import type { ReplayDifference } from '../domain/execution/replay.ts';
import type { ExecutionStatus, ReportStatus, ResultStatus } from '../domain/execution/statuses.ts';
import type { ExecutionView, TaskView } from '../domain/execution/view.ts';
import type { ExecutionId, Instant, LeaseToken, Namespace, TaskId } from '../domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../domain/kernel/json.ts';
import type { Result } from '../domain/kernel/result.ts';
import type { NamespaceQuotas } from '../ports/access-store.ts';
import type {
  PutDefinitionOutcome,
  SchemaRow,
  TaskDefinitionRow,
  WorkflowDefinitionRow,
} from '../ports/definition-store.ts';
import type {
  Heartbeat,
  HeartbeatOutcome,
  LeasedTask,
  LogLine,
  OpenTaskRow,
  TaskReport,
} from '../ports/engine-store.ts';
import type {
  ExecutionFilter,
  ExecutionRow,
  ExecutionSummary,
  FoundRuns,
  FoundTasks,
  QueueDepth,
  TaskFilter,
  WorkerSeen,
} from '../ports/execution-index.ts';
import type { SemaphoreUse } from '../ports/limits.ts';
import type { NamedValue } from '../ports/named-values.ts';
import type { DeadLetter, InternalEvent } from '../ports/outbox-index.ts';
import type { RunQuery } from '../ports/run-query.ts';
import type { Tag, Tagged, TaggedKind, TaggedWith } from '../ports/tag-store.ts';
import type { ApplicationError } from './application-error.ts';
import type { EventHandlerUseCases } from './event-handler-use-cases.ts';
import type { Callback } from './receive-callbacks.ts';
import type { ScheduleUseCases } from './schedule-use-cases.ts';
import type { PolledTask } from './unfenced/run-facts.ts';
import type { TaskUpdate, UpdateAnswer } from './unfenced/task-update.ts';

export type Outcome<T> = Promise<Result<T, ApplicationError>>;

export type IdempotencyStrategy = 'RETURN_EXISTING' | 'FAIL' | 'FAIL_ON_RUNNING';

/** A JSON Schema under a name. */
export type SchemaDocument = Readonly<{ name: string; version?: number; type: string; data: JsonValue }>;

export type StartRequest = Readonly<{
  name: string;
  version?: number;
  input: JsonObject;
  correlationId?: string;
  priority: number;
  idempotencyKey?: string;
  idempotencyStrategy: IdempotencyStrategy;
  /**
   * Absent: a key is one of the whole namespace. A key of the workflow alone is Conductor's: it stands for its run whatever
   * else the request says.
   */
  idempotencyScope?: 'workflow';
  /** The run that this one repeats. */
  copyOf?: ExecutionId;
  /** A definition that no name leads to, as Conductor's clients send it with a start; `name` and `version` are its own. */
  inline?: JsonObject;
  /** Who asked for it: kept with the run. */
  createdBy?: string;
  taskToDomain?: Readonly<Record<string, string>>;
}>;

export type StartedExecution = Readonly<{
  executionId: ExecutionId;
  status: ExecutionStatus;
  name: string;
  version: number;
  /** False when an idempotency key led to a run that existed. */
  created: boolean;
}>;

export type WaitRequest = Readonly<{
  waitMs: number;
  /** Also return when this task has ended. */
  untilTaskRef?: string;
  /** Also return when nothing moves without somebody's doing: all that is open waits, or the run is paused. */
  untilBlocked?: boolean;
  /** The client went away. */
  signal: AbortSignal;
}>;

export type WaitUntilBlockedRequest = Readonly<{
  waitMs: number;
  /** Also return when one of these tasks has ended. */
  untilTaskRefs: readonly string[];
  /** The client went away. */
  signal: AbortSignal;
}>;

/** A run that was waited for, and the task that waits for a signal, with the run it is in: the same or one below. */
export type BlockedExecution = Readonly<{
  target: ExecutionDetail;
  blocking?: Readonly<{ detail: ExecutionDetail; task: TaskView }>;
  /** Nothing of what was waited for came in time. */
  timedOut: boolean;
}>;

/** What a task, or a whole run, waits for: a closed vocabulary for programs, beside the sentence for people. */
export const HELD_BACK_BY = [
  'PAUSED',
  'PARKED',
  'ADMISSION',
  'MAX_CONCURRENT_TASKS',
  'EVALUATION',
  'SIGNAL',
  'CHILD',
  'TIMER',
  'LEASED',
  'RETRY_BACKOFF',
  'START_DELAY',
  'SEMAPHORE',
  'CONCURRENCY_LIMIT',
  'RATE_LIMIT',
  'NO_WORKER',
  'QUEUED',
] as const;
export type HeldBackBy = (typeof HELD_BACK_BY)[number];

/** `ref` is empty for what holds the whole run. */
export type WaitingFor = Readonly<{ ref: string; iteration: number; taskId?: TaskId; gate: HeldBackBy; why: string }>;

/** History folded, live leases and the reason nothing moves laid over it. */
export type ExecutionDetail = Readonly<{
  row: ExecutionRow;
  view: ExecutionView;
  live: readonly OpenTaskRow[];
  /** One sentence per open task or state that holds the run: "why is it not running?". */
  waitingFor: readonly WaitingFor[];
  /** What it follows. */
  plan: Plan;
}>;

export type Page<T> = Readonly<{ items: readonly T[]; nextCursor?: string }>;

export type LeaseCall = Readonly<{
  namespace: Namespace;
  queues: readonly string[];
  workerId: string;
  count: number;
  waitMs: number;
  leaseMs?: number;
  /** The client went away: what was leased for it meanwhile is given back at once. */
  signal: AbortSignal;
}>;

export type BulkAction = 'pause' | 'resume' | 'retry' | 'restart' | 'terminate' | 'delete';

export type BulkCall = Readonly<{ action: BulkAction; by: string; reason?: string }>;

/** What became of one run of a bulk call: its status now, none when it was deleted. */
export type BulkAnswer = Readonly<{ id: string; result: Result<string | undefined, ApplicationError> }>;

/** What differs from the run that is repeated. */
export type RunAgainCall = Readonly<{
  input?: JsonObject;
  version?: number;
  /** The highest version there is now. */
  latest: boolean;
  correlationId?: string;
  priority?: number;
}>;

/** A run derived again. Without `difference` it came out as it is on record. */
export type ReplayedExecution = Readonly<{
  executionId: ExecutionId;
  name: string;
  /** With which it was derived. */
  version: number;
  /** Events on record. */
  recorded: number;
  difference?: ReplayDifference;
  /** With another version: what it would have decided, and the seqs of what was told and has no place in it. */
  preview?: Readonly<{ events: readonly SequencedEvent[]; unused: readonly number[] }>;
}>;

export type ReportAnswer = Readonly<{
  taskId: TaskId;
  result: Result<{ readonly repeated: boolean }, ApplicationError>;
}>;

export type SignalCall = Readonly<{
  ref?: string;
  status: 'COMPLETED' | 'FAILED' | 'FAILED_WITH_TERMINAL_ERROR';
  output: JsonObject;
}>;

/** How a person, a callback or another run ends a task that nobody leases. */
export type CompleteTaskCall = Readonly<{
  status: ResultStatus;
  output: JsonObject;
  reason?: string;
}>;

/** Who asks for an action on a run, and why: both are kept in history. */
export type AskedBy = Readonly<{ by: string; reason?: string }>;

/** What an operator does to the course of one run; `taskRef` is a wire ref, or a plain ref of a task in a loop. */
export type OperatorAction =
  | Readonly<{
      type: 'rerun';
      /** Absent, both: the whole run. */
      fromTaskRef?: string;
      fromTaskId?: string;
      taskInput?: JsonObject;
      workflowInput?: JsonObject;
      correlationId?: string;
    }>
  | Readonly<{ type: 'rerun-tasks'; taskRefs: readonly string[]; cascade: boolean }>
  | Readonly<{ type: 'restart'; useLatestDefinitions: boolean }>
  | Readonly<{ type: 'skip-task'; taskRef: string; taskInput?: JsonObject; taskOutput?: JsonObject }>
  | Readonly<{ type: 'cancel-task'; taskRef: string }>
  | Readonly<{ type: 'variables'; variables: JsonObject }>
  | Readonly<{ type: 'jump'; taskRef: string; taskInput?: JsonObject }>
  | Readonly<{
      type: 'upgrade';
      /** Absent: the highest. */
      version?: number;
      workflowInput?: JsonObject;
      taskOutput?: Readonly<Record<string, JsonObject>>;
    }>;

/** A document and the door whose defaults fill it. */
export type GivenDocument = Readonly<{ document: JsonObject; dialect: Dialect }>;

/** A run to be tried out: whatever it needs comes along, and what workers would do is told beforehand. */
export type WorkflowTest = Readonly<{
  definition: GivenDocument;
  /** Definitions that it starts. */
  others: readonly GivenDocument[];
  taskDefinitions: readonly GivenDocument[];
  start: Omit<StartRequest, 'name' | 'version' | 'inline'>;
  /** By ref, or by `workflow/ref`: one outcome for each attempt. A task without one is where the test ends. */
  outcomes: Readonly<
    Record<string, readonly Readonly<{ status: ReportStatus; output: JsonObject; afterSeconds: number }>[]>
  >;
  /** The client went away. */
  signal: AbortSignal;
}>;

export type Operated = Readonly<{
  summary: ExecutionSummary;
  /** Of `rerun-tasks` without cascade: wire refs of what ran on results that are about to change. */
  stale: readonly string[];
}>;

export type StreamItem =
  | Readonly<{ kind: 'event'; entry: SequencedEvent }>
  /** Live lease and progress notes; they have no place in history. */
  | Readonly<{ kind: 'note'; note: JsonObject }>
  | Readonly<{ kind: 'end' }>;

/** Everything a person or program can ask of the engine; the http adapter is one caller, embedding another. */
export interface UseCases {
  readonly definitions: {
    /** `document` is what the user sent; the door fills absent fields with its own defaults. */
    registerWorkflow(
      namespace: Namespace,
      document: JsonValue,
      door: Dialect,
      overwrite: boolean,
    ): Outcome<Readonly<{ outcome: PutDefinitionOutcome; definition: WorkflowDefinition }>>;
    /** Never stores; lists every problem it finds, empty when valid. */
    validateWorkflow(namespace: Namespace, document: JsonValue, door: Dialect): Promise<readonly DefinitionProblem[]>;
    getWorkflow(namespace: Namespace, name: string, version?: number): Outcome<WorkflowDefinitionRow>;
    listWorkflows(namespace: Namespace, limit: number, cursor?: string): Outcome<Page<WorkflowDefinitionRow>>;
    listWorkflowVersions(namespace: Namespace, name: string): Outcome<readonly WorkflowDefinitionRow[]>;
    deleteWorkflow(namespace: Namespace, name: string, version: number): Outcome<null>;
    registerTask(
      namespace: Namespace,
      document: JsonValue,
      door: Dialect,
    ): Outcome<Readonly<{ outcome: PutDefinitionOutcome; definition: TaskDefinition }>>;
    getTask(namespace: Namespace, name: string): Outcome<TaskDefinitionRow>;
    listTasks(namespace: Namespace, limit: number, cursor?: string): Outcome<Page<TaskDefinitionRow>>;
    deleteTask(namespace: Namespace, name: string): Outcome<null>;
    /**
     * A version never changes, unless it is to be overwritten; without one the next is taken, or the highest where that says
     * the same.
     */
    registerSchema(
      namespace: Namespace,
      document: SchemaDocument,
      overwrites?: boolean,
    ): Outcome<Readonly<{ outcome: PutDefinitionOutcome; name: string; version: number }>>;
    /** Sets, or without one takes away, the limit on runs in every version of a workflow; runs that are going keep theirs. */
    putRateLimit(namespace: Namespace, name: string, limit: RateLimitConfig | undefined): Outcome<null>;
    getSchema(namespace: Namespace, name: string, version?: number): Outcome<SchemaRow>;
    listSchemas(namespace: Namespace, limit: number, cursor?: string): Outcome<Page<SchemaRow>>;
    deleteSchema(namespace: Namespace, name: string, version: number): Outcome<null>;
  };
  readonly executions: {
    start(namespace: Namespace, request: StartRequest): Outcome<StartedExecution>;
    /** Resolves when the run has ended, the named task has, or the time is up: then with the state so far. */
    wait(namespace: Namespace, executionId: ExecutionId, wait: WaitRequest): Outcome<ExecutionDetail>;
    /** Resolves when the run has ended, when it or one below it waits for a signal, or when the time is up. */
    waitUntilBlocked(
      namespace: Namespace,
      executionId: ExecutionId,
      wait: WaitUntilBlockedRequest,
    ): Outcome<BlockedExecution>;
    get(namespace: Namespace, executionId: ExecutionId): Outcome<ExecutionDetail>;
    status(namespace: Namespace, executionId: ExecutionId): Outcome<ExecutionSummary>;
    tree(
      namespace: Namespace,
      executionId: ExecutionId,
    ): Outcome<Readonly<{ executions: readonly ExecutionSummary[]; truncated: boolean }>>;
    history(
      namespace: Namespace,
      executionId: ExecutionId,
      after: number,
      limit: number,
    ): Outcome<Readonly<{ events: readonly SequencedEvent[]; more: boolean }>>;
    /** Time travel: the run as it was after event `seq`. */
    stateAt(namespace: Namespace, executionId: ExecutionId, seq: number): Outcome<ExecutionView>;
    search(
      namespace: Namespace,
      filter: ExecutionFilter,
      limit: number,
      cursor?: string,
    ): Outcome<Page<ExecutionSummary>>;
    /** Tries a workflow out beside the store, by the real engine on virtual time. Nothing of it is kept. */
    test(test: WorkflowTest): Outcome<ExecutionDetail>;
    /** Lets workers have at once what others gave back for a time. Returns how many tasks that are. */
    resetCallbacks(namespace: Namespace, executionId: ExecutionId): Outcome<number>;
    /** Runs by a whole language of conditions, a page by its place. */
    searchRuns(namespace: Namespace, query: RunQuery): Outcome<FoundRuns>;
    pause(namespace: Namespace, executionId: ExecutionId, by: string, reason?: string): Outcome<ExecutionSummary>;
    resume(namespace: Namespace, executionId: ExecutionId, by: string, reason?: string): Outcome<ExecutionSummary>;
    terminate(
      namespace: Namespace,
      executionId: ExecutionId,
      by: string,
      reason?: string,
      triggerFailureWorkflow?: boolean,
    ): Outcome<ExecutionSummary>;
    /** `resumesChildren`: failed SUB_WORKFLOWs go on with the children they had, instead of new ones. */
    retry(
      namespace: Namespace,
      executionId: ExecutionId,
      by: string,
      reason?: string,
      resumesChildren?: boolean,
    ): Outcome<ExecutionSummary>;
    /** Removes a run that has ended. Errors: NOT_FOUND, INVALID_STATE while it is going or owes messages. */
    delete(namespace: Namespace, executionId: ExecutionId): Outcome<null>;
    /** One answer for each id, in their order; none stops the others. */
    bulk(namespace: Namespace, ids: readonly string[], call: BulkCall): Promise<readonly BulkAnswer[]>;
    /** Derives a run again, with its own version or another; nothing is carried out. */
    replay(namespace: Namespace, executionId: ExecutionId, version?: number): Outcome<ReplayedExecution>;
    /** A new run with the input of another. */
    runAgain(namespace: Namespace, executionId: ExecutionId, call: RunAgainCall): Outcome<StartedExecution>;
    signal(
      namespace: Namespace,
      executionId: ExecutionId,
      call: SignalCall,
      by: string,
    ): Outcome<Readonly<{ summary: ExecutionSummary; delivered: boolean }>>;
    /**
     * Changes the course of a run. Errors: NOT_FOUND, INVALID_STATE, TERMINAL_STATE, VALIDATION_FAILED,
     * INPUT_SCHEMA_VIOLATION, PAYLOAD_TOO_LARGE, LIMIT_EXCEEDED.
     */
    operate(namespace: Namespace, executionId: ExecutionId, action: OperatorAction, asked: AskedBy): Outcome<Operated>;
    /** A full derivation, repair included; says how many owed effects it put back. */
    decide(
      namespace: Namespace,
      executionId: ExecutionId,
    ): Outcome<Readonly<{ summary: ExecutionSummary; repaired: number }>>;
    /**
     * Every event with seq > after exactly once and in order, ending after the terminal fact. `NOT_FOUND` when absent,
     * `INVALID_CURSOR` when `after` is beyond the log. Pull-driven: a slow reader holds one page, never a growing buffer.
     */
    stream(
      namespace: Namespace,
      executionId: ExecutionId,
      after: number,
      signal: AbortSignal,
    ): Outcome<AsyncIterable<StreamItem>>;
  };
  readonly workers: {
    lease(call: LeaseCall): Outcome<readonly LeasedTask[]>;
    heartbeat(namespace: Namespace, heartbeat: Heartbeat): Outcome<Extract<HeartbeatOutcome, { kind: 'extended' }>>;
    report(namespace: Namespace, reports: readonly TaskReport[]): Promise<readonly ReportAnswer[]>;
    release(namespace: Namespace, lease: Readonly<{ taskId: TaskId; leaseToken: LeaseToken }>): Outcome<null>;
    appendLogs(
      namespace: Namespace,
      lease: Readonly<{ taskId: TaskId; leaseToken: LeaseToken }>,
      lines: readonly string[],
    ): Outcome<null>;
    logs(namespace: Namespace, taskId: TaskId, limit: number, cursor?: string): Outcome<Page<LogLine>>;
    queues(namespace: Namespace): Outcome<readonly QueueDepth[]>;
    queue(namespace: Namespace, queue: string): Outcome<QueueDepth>;
    workers(namespace: Namespace): Outcome<readonly WorkerSeen[]>;
  };
  /** Tasks for clients that know an attempt by its id and its holder by the name of the worker, and no lease tokens. */
  readonly tasks: {
    /** A lease, with what is known of the runs. Errors: LIMIT_EXCEEDED. */
    poll(call: LeaseCall): Outcome<readonly PolledTask[]>;
    /** Errors: NOT_FOUND, INVALID_STATE. */
    update(namespace: Namespace, update: TaskUpdate, by: string): Outcome<UpdateAnswer>;
    /** The same, and the next task of the queue for the worker, where the update ended one. */
    updateAndTakeNext(
      namespace: Namespace,
      update: TaskUpdate,
      by: string,
      signal: AbortSignal,
    ): Outcome<PolledTask | undefined>;
    /** Ends the task whoever holds it. Errors: NOT_FOUND, TERMINAL_STATE, INVALID_STATE. */
    end(namespace: Namespace, taskId: TaskId, call: CompleteTaskCall, by: string): Outcome<ExecutionSummary>;
    appendLogs(namespace: Namespace, taskId: TaskId, lines: readonly string[]): Outcome<null>;
    search(
      namespace: Namespace,
      filter: TaskFilter,
      page: Readonly<{ offset: number; limit: number; countMax: number }>,
    ): Promise<FoundTasks>;
    /** Lets whoever waits for a queue look again. Returns how many of its tasks nobody holds. */
    requeue(namespace: Namespace, queue: string): Promise<number>;
  };
  /** Tags of things with a name. Errors: VALIDATION_FAILED, LIMIT_EXCEEDED. */
  readonly tags: {
    add(namespace: Namespace, thing: Tagged, tags: readonly Tag[]): Outcome<null>;
    replace(namespace: Namespace, thing: Tagged, tags: readonly Tag[]): Outcome<null>;
    /** Returns how many of them there were. */
    remove(namespace: Namespace, thing: Tagged, tags: readonly Tag[]): Promise<number>;
    /** As when the thing itself is deleted. */
    clear(namespace: Namespace, thing: Tagged): Promise<void>;
    of(namespace: Namespace, kind: TaggedKind, names: readonly string[]): Promise<ReadonlyMap<string, readonly Tag[]>>;
    namesWith(namespace: Namespace, kind: TaggedKind, tag: Tag): Promise<readonly string[]>;
    list(namespace: Namespace): Promise<readonly TaggedWith[]>;
  };
  /** Payloads that are uploaded before they are named. A token is all that an upload or a read of one needs. */
  readonly payloads: {
    location(
      namespace: Namespace,
      wanted: Readonly<{ operation: 'READ' | 'WRITE'; kind: string; path?: string }>,
    ): Outcome<Readonly<{ path: string; token: string }>>;
    upload(token: string, content: JsonObject): Outcome<null>;
    download(token: string): Outcome<JsonObject>;
    /** For a request that names it. */
    load(namespace: Namespace, path: string): Outcome<JsonObject>;
  };
  readonly doors: {
    /** Ends a waiting task; the same call again is answered like the first. */
    completeTask(namespace: Namespace, taskId: TaskId, call: CompleteTaskCall, by: string): Outcome<ExecutionSummary>;
    sendMessage(
      namespace: Namespace,
      executionId: ExecutionId,
      payload: JsonObject,
      by: string,
    ): Outcome<Readonly<{ messageId: string }>>;
    /** False for every cause of refusal alike. */
    callback(call: Callback): Promise<boolean>;
    /** How many waiting tasks the payload ended. */
    webhook(namespace: Namespace, webhook: string, payload: JsonValue): Promise<number>;
  };
  readonly outbox: {
    deadLetters(namespace: Namespace, limit: number, cursor?: string): Outcome<Page<DeadLetter>>;
    redrive(namespace: Namespace, id: string): Outcome<null>;
    deleteDeadLetter(namespace: Namespace, id: string): Outcome<null>;
    internalEvents(namespace: Namespace, sink: string, limit: number, cursor?: string): Outcome<Page<InternalEvent>>;
  };
  readonly environment: {
    put(namespace: Namespace, name: string, value: string): Outcome<'created' | 'replaced'>;
    get(namespace: Namespace, name: string): Outcome<NamedValue>;
    list(namespace: Namespace, limit: number, cursor?: string): Outcome<Page<NamedValue>>;
    delete(namespace: Namespace, name: string): Outcome<null>;
  };
  readonly secrets: {
    put(namespace: Namespace, name: string, value: string): Outcome<'created' | 'replaced'>;
    /** Everything about it but what it is. */
    get(namespace: Namespace, name: string): Outcome<SecretSummary>;
    list(namespace: Namespace, limit: number, cursor?: string): Outcome<Page<SecretSummary>>;
    delete(namespace: Namespace, name: string): Outcome<null>;
    /** Seals with the first key of the ring whatever another key has sealed. */
    rotate(namespace: Namespace): Outcome<Readonly<{ keyId: string; resealed: number; unreadable: readonly string[] }>>;
  };
  readonly semaphores: {
    /** Sets how many permits there are; who holds one keeps it. */
    put(
      namespace: Namespace,
      name: string,
      permits: number,
    ): Outcome<Readonly<{ outcome: 'created' | 'unchanged' | 'replaced'; semaphore: SemaphoreUse }>>;
    get(namespace: Namespace, name: string): Outcome<SemaphoreUse>;
    list(namespace: Namespace, limit: number, cursor?: string): Outcome<Page<SemaphoreUse>>;
    delete(namespace: Namespace, name: string): Outcome<null>;
  };
  readonly schedules: ScheduleUseCases;
  readonly eventHandlers: EventHandlerUseCases;
  readonly access: {
    /** The key in clear is in this answer and nowhere else. */
    createApiKey(
      namespace: Namespace,
      request: Readonly<{ name: string; scopes: readonly string[]; expiresAt?: Instant }>,
    ): Outcome<Readonly<{ id: string; key: string; scopes: readonly string[] }>>;
    listApiKeys(namespace: Namespace): Outcome<readonly ApiKeySummary[]>;
    revokeApiKey(namespace: Namespace, id: string): Outcome<null>;
    /** Undefined for every cause of refusal alike. */
    authenticate(key: string): Promise<Principal | undefined>;
    /** A token for a short time in exchange for the two halves of an API key. Undefined for every cause of refusal alike. */
    issueToken(keyId: string, secret: string): Promise<string | undefined>;
    /** One for the person at this machine; only a door that lets them in without credentials takes it. */
    issueLocalToken(): Promise<string>;
    checkToken(token: string): Promise<CheckedToken>;
    createNamespace(namespace: Namespace): Outcome<null>;
    listNamespaces(): Outcome<readonly Namespace[]>;
    namespaceExists(namespace: Namespace): Promise<boolean>;
    getQuotas(namespace: Namespace): Outcome<NamespaceQuotas>;
    putQuotas(namespace: Namespace, quotas: NamespaceQuotas): Outcome<NamespaceQuotas>;
  };
  readonly health: {
    /** Empty when ready; one sentence per problem else. */
    problems(): Promise<readonly string[]>;
  };
}

/** A secret is never told; `keyId` is the key that it is sealed with. */
export type SecretSummary = Readonly<{ name: string; keyId: string; createdAt: Instant; updatedAt: Instant }>;

export type ApiKeySummary = Readonly<{
  id: string;
  name: string;
  prefix: string;
  scopes: readonly string[];
  createdAt: Instant;
  expiresAt?: Instant;
  lastUsedAt?: Instant;
  revoked: boolean;
}>;

/** Whose a token is. `local`: of the person at this machine, if the door lets them in. */
export type CheckedToken = Readonly<
  { kind: 'principal'; principal: Principal } | { kind: 'local' } | { kind: 'expired' } | { kind: 'invalid' }
>;

/** Who calls. Every check reads only this. */
export type Principal = Readonly<{
  id: string;
  /** Undefined: may act in every namespace (the local administrator of `rondo dev`). */
  namespace?: Namespace;
  scopes: readonly string[];
}>;
