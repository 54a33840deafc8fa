import type { ChildFields } from '../definition/child-fields.ts';
import type { TaskPolicy } from '../definition/task-definition.ts';
import type { TaskNodeDefinition } from '../definition/workflow-definition.ts';
import type { DeferredReference } from '../expression/evaluate.ts';
import type { ExecutionId, Instant, Namespace, TaskId } from '../kernel/brand.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import type { AttemptStatus, ClosedExecutionStatus, OperatorStatus, ReportStatus } from './statuses.ts';

/** Which deadline of an attempt passed; the wire names are in the glossary. */
export type DeadlineKind = 'SCHEDULE_TO_START' | 'START_TO_CLOSE' | 'SCHEDULE_TO_CLOSE' | 'HEARTBEAT';

/** How a closed attempt goes on: the next node, another attempt, or up the failure path. */
export type Disposition =
  | Readonly<{ kind: 'advance' }>
  | Readonly<{ kind: 'retry'; visibleAt: Instant }>
  | Readonly<{ kind: 'fail' }>
  | Readonly<{ kind: 'timeOutExecution' }>
  /** An action took the attempt away; the fact of the action, which comes next, says how the run goes on. */
  | Readonly<{ kind: 'withdraw' }>;

/** Names one occurrence of a node: `ref` carries the suffixes of the outer loops, `iteration` the innermost (0: no loop). */
export type TaskSlot = Readonly<{ ref: string; iteration: number }>;

/** The attempt of a SUB_WORKFLOW that waits for a run. */
export type ParentLink = Readonly<TaskSlot & { executionId: ExecutionId; taskId: TaskId; attempt: number }>;

/**
 * The rules by which runs that start now are decided, where these are not what they once were: what a run began with stays
 * its own, so that its log can be derived again. Absent: 1. Since 2 the output of a DO_WHILE tells of every task that ran,
 * also of one without output.
 */
export const SEMANTICS = 2;

/** First fact of every log; everything a replay needs beside the pinned definition. */
export type ExecutionStarted = Readonly<{
  type: 'ExecutionStarted';
  at: Instant;
  namespace: Namespace;
  definitionHash: string;
  name: string;
  version: number;
  input: JsonObject;
  variables: JsonObject;
  priority: number;
  correlationId?: string;
  taskToDomain?: Readonly<Record<string, string>>;
  parent?: ParentLink;
  /** Runs above a child: absent where there is none. */
  depth?: number;
  /** Starts by events above this one, that it was started by an event included; absent: none. */
  eventDepth?: number;
  /** The run whose start this one repeats. */
  copyOf?: ExecutionId;
  /** Who asked for the run, where the door tells. */
  createdBy?: string;
  /** It holds or awaits a place under a limit on runs, which its end gives back. */
  gated?: true;
  /** The run whose failure started this one; a failure workflow never starts another. */
  failedExecutionId?: ExecutionId;
  semantics?: number;
}>;

/** The run that an attempt starts; its id is derived from the attempt. */
export type ChildStart = Readonly<
  ChildFields & {
    executionId: ExecutionId;
    /** The run is there already and goes on: a retry of this run took it up again. */
    resumed?: true;
    /** A definition that data gave; one that is written out stands in the plan. */
    definition?: JsonObject;
  }
>;

/** An attempt opened: it has exactly one row in the task queue until a TaskClosed or the end of the run. */
export type TaskScheduled = Readonly<
  TaskSlot & {
    type: 'TaskScheduled';
    at: Instant;
    attempt: number;
    taskType: string;
    taskName: string;
    queue: string;
    input: JsonValue;
    visibleAt: Instant;
    /** Where references to secrets stand in the input; whatever else looks like one is data. */
    deferred?: readonly DeferredReference[];
    /** When the first attempt of this task was scheduled: the total deadline counts from here. */
    firstScheduledAt: Instant;
    /** Settings of a task whose name was only known at run time; static names have theirs in the plan. */
    policy?: TaskPolicy;
    /** The same of the schema that its output must fit. */
    outputSchema?: JsonValue;
    /** A waiting task that ends by the clock: when. */
    fireAt?: Instant;
    /** A compensation: the wire ref of the task it undoes. */
    compensates?: string;
    /** An EVENT that stays open for an answer: where its message goes. */
    sink?: string;
    /** SUB_WORKFLOW, START_WORKFLOW: the run it starts. */
    child?: ChildStart;
  }
>;

/** An attempt ended. Legal only for the open attempt of the slot. */
export type TaskClosed = Readonly<
  TaskSlot & {
    type: 'TaskClosed';
    at: Instant;
    attempt: number;
    status: AttemptStatus;
    output: JsonObject;
    reason?: string;
    deadline?: DeadlineKind;
    workerId?: string;
    startedAt?: Instant;
    /** Of an attempt that was put off: how often it was, and the seconds asked for last. */
    callbacks?: number;
    callbackSeconds?: number;
    /** PULL_WORKFLOW_MESSAGES: how many of the oldest messages it took. */
    messagesTaken?: number;
    disposition: Disposition;
    /** It would have been retried, but the retry budget of its task was spent. */
    budgetSpent?: boolean;
  }
>;

/** A deadline whose policy is ALERT_ONLY passed; the attempt stays open. */
export type TaskDeadlineMissed = Readonly<
  TaskSlot & { type: 'TaskDeadlineMissed'; at: Instant; attempt: number; deadline: DeadlineKind }
>;

/** One runtime branch of a dynamic fork: whole tasks, in order, with their literal inputs already inside. */
export type DynamicBranch = readonly TaskNodeDefinition[];

/** An operator that opens and closes in one fact. Legal for a slot that has not been entered. */
export type OperatorResolved = Readonly<
  TaskSlot & {
    type: 'OperatorResolved';
    at: Instant;
    operator: string;
    status: OperatorStatus;
    input: JsonValue;
    output: JsonObject;
    reason?: string;
    /** SWITCH and DECISION: the label of the case taken; null for the default or for none. */
    chosenCase?: string | null;
    /** SET_VARIABLE: what is merged into the variables. */
    variables?: JsonObject;
    /** FORK_JOIN_DYNAMIC: the branches that data asked for. */
    branches?: readonly DynamicBranch[];
    /** EVENT, KAFKA_PUBLISH: where its message goes. */
    sink?: string;
    /** TERMINATE: how the run ends. */
    termination?: Readonly<{ status: ClosedExecutionStatus; reason?: string; output?: JsonObject }>;
  }
>;

/** An attempt that could not even be opened: its input, name or time made no sense. Nothing was queued for it. */
export type TaskRefused = Readonly<
  TaskSlot & {
    type: 'TaskRefused';
    at: Instant;
    attempt: number;
    taskType: string;
    taskName: string;
    input: JsonValue;
    status: 'FAILED_WITH_TERMINAL_ERROR' | 'COMPLETED_WITH_ERRORS';
    reason: string;
    /** A compensation: the wire ref of the task it undoes. */
    compensates?: string;
  }
>;

/** A task that nobody had to run: another of its name had the same key in its cacheConfig, and this was its output. */
export type TaskTakenFromCache = Readonly<
  TaskSlot & {
    type: 'TaskTakenFromCache';
    at: Instant;
    attempt: number;
    taskType: string;
    taskName: string;
    input: JsonValue;
    output: JsonObject;
  }
>;

/** JOIN, EXCLUSIVE_JOIN or DO_WHILE was entered and stays open. A DO_WHILE begins iteration 1 with it. */
export type OperatorOpened = Readonly<
  TaskSlot & {
    type: 'OperatorOpened';
    at: Instant;
    operator: string;
    input: JsonValue;
    /** DO_WHILE over a list: the list. */
    items?: readonly JsonValue[];
  }
>;

/** The condition of a DO_WHILE held: the body runs again. */
export type LoopIterated = Readonly<TaskSlot & { type: 'LoopIterated'; at: Instant; next: number }>;

export type OperatorClosed = Readonly<
  TaskSlot & { type: 'OperatorClosed'; at: Instant; status: OperatorStatus; output: JsonObject; reason?: string }
>;

/** A signal that no open task waited for yet; the next WAIT, YIELD or HUMAN with that ref takes it. */
export type SignalBuffered = Readonly<{
  type: 'SignalBuffered';
  at: Instant;
  ref: string;
  output: JsonObject;
  status: ReportStatus;
}>;

/** A message for the run itself, in the order of arrival; a PULL_WORKFLOW_MESSAGES takes it. */
export type MessageReceived = Readonly<{
  type: 'MessageReceived';
  at: Instant;
  id: string;
  payload: JsonObject;
  by: string;
}>;

/** Every place under a limit on runs is taken: nothing is scheduled until one is free. `key` is the resolved one. */
export type ExecutionQueued = Readonly<{ type: 'ExecutionQueued'; at: Instant; key: string }>;

/** A queued run got its place. Legal only while it awaits one. */
export type ExecutionAdmitted = Readonly<{ type: 'ExecutionAdmitted'; at: Instant }>;

export type ExecutionPaused = Readonly<{ type: 'ExecutionPaused'; at: Instant; by: string; reason?: string }>;
export type ExecutionResumed = Readonly<{ type: 'ExecutionResumed'; at: Instant; by: string; reason?: string }>;

/** The run's own deadline passed and its policy is ALERT_ONLY. */
export type ExecutionDeadlineMissed = Readonly<{ type: 'ExecutionDeadlineMissed'; at: Instant }>;

/**
 * The run fails or times out after tasks completed that declare how they are undone: all that is open is CANCELED by this
 * fact, and what follows undoes them, the last one first. Legal once, in an open run.
 */
export type CompensationStarted = Readonly<{
  type: 'CompensationStarted';
  at: Instant;
  /** How the run will end. */
  status: 'FAILED' | 'TIMED_OUT';
  reason?: string;
  failedTask?: string;
  /** The output of the run, where what ended it gave one. */
  output?: JsonObject;
}>;

/** All is undone, or a compensation failed for good, which leaves what finished before it as it is. The end follows. */
export type CompensationEnded = Readonly<{
  type: 'CompensationEnded';
  at: Instant;
  status: 'COMPLETED' | 'FAILED';
  /** Why it failed. */
  reason?: string;
}>;

/** The run that an end starts: its id is derived from that end. */
export type FailureWorkflowStart = Readonly<{ name: string; version?: number; executionId: ExecutionId }>;

/** The run ended; every attempt and operator still open is CANCELED by this fact. */
export type ExecutionClosed = Readonly<{
  type: 'ExecutionClosed';
  at: Instant;
  status: ClosedExecutionStatus;
  output: JsonObject;
  reason?: string;
  /** Wire ref of the task whose failure ended the run. */
  failedTask?: string;
  failureWorkflow?: FailureWorkflowStart;
  by?: string;
}>;

/**
 * An operator of the service reopened a failed run at its failed tasks, or one whose compensation failed at that. Legal after
 * a failing ExecutionClosed, unless everything was undone.
 */
export type ExecutionRetried = Readonly<{
  type: 'ExecutionRetried';
  at: Instant;
  by: string;
  reason?: string;
  /** Failed SUB_WORKFLOWs go on with the children they had, instead of new ones. */
  resumesChildren?: true;
  /** Of a child that its parent took up again: the attempt that waits for it from now on. */
  parent?: ParentLink;
}>;

/** Another attempt of the parent waits for this run from now on. Legal while the run is open. */
export type ExecutionAdopted = Readonly<{ type: 'ExecutionAdopted'; at: Instant; parent: ParentLink }>;

/** Who asked for something, and why. */
export type Asked = Readonly<{ by: string; reason?: string }>;

/**
 * What an action takes back, so that it runs again. The keys are told and not derived: a log says for ever what happened,
 * whatever later versions would take back.
 */
export type TakenBack = Readonly<{
  /** Wire refs of the tasks taken back, each with all below it. */
  resets: readonly string[];
  /** Loops that go back to the beginning of an earlier iteration. */
  rewinds?: readonly Readonly<{ ref: string; iteration: number }>[];
  /** Wire refs of loops that had ended and go on. */
  reopened?: readonly string[];
  /** Tasks that read what others gave and must not run again before these have. */
  waits?: readonly Readonly<{ ref: string; on: readonly string[] }>[];
  /** Wire refs of joins and loops among what was taken back that had not come to a good end. */
  withdrawn?: readonly string[];
}>;

/** A task and all that follows from it run again, or, without a task, the whole run. Legal after ExecutionClosed. */
export type ExecutionRerun = Readonly<
  Asked &
    TakenBack & {
      type: 'ExecutionRerun';
      at: Instant;
      /** Wire ref of the task. */
      from?: string;
      /** Of that task, in place of what the definition says. */
      taskInput?: JsonObject;
      /** Of the run, from now on. */
      input?: JsonObject;
      correlationId?: string;
      /** Of the run from now on: those of the definition, where the whole run begins again. */
      variables?: JsonObject;
    }
>;

/** Named tasks run again. Legal while the run is PAUSED, which it stays, or after ExecutionClosed. */
export type TasksRerun = Readonly<
  Asked &
    TakenBack & {
      type: 'TasksRerun';
      at: Instant;
      tasks: readonly string[];
      /** Also all that follows from them. */
      cascade: boolean;
      /** Without cascade: wire refs of what ran on results that are about to change. */
      stale: readonly string[];
    }
>;

/** The definition that the run follows from now on. */
export type PinnedDefinition = Readonly<{ definitionHash: string; name: string; version: number }>;

/** The whole run begins again. Legal after ExecutionClosed. */
export type ExecutionRestarted = Readonly<
  Asked & { type: 'ExecutionRestarted'; at: Instant; definition?: PinnedDefinition; variables: JsonObject }
>;

/** The run goes on at a task. What was open in the task's own sequence was withdrawn by the facts before this one. */
export type ExecutionJumped = Readonly<
  Asked & TakenBack & { type: 'ExecutionJumped'; at: Instant; to: string; input?: JsonObject }
>;

/** The open run follows another definition from now on; new tasks before others that ran already are skipped. */
export type ExecutionUpgraded = Readonly<
  Asked & {
    type: 'ExecutionUpgraded';
    at: Instant;
    definition: PinnedDefinition;
    input?: JsonObject;
    /** All of them, with those that only the new definition has. */
    variables: JsonObject;
  }
>;

/** Environment values that the run reads and that are not what it knew: null, there is none any more. */
export type EnvironmentRead = Readonly<{
  type: 'EnvironmentRead';
  at: Instant;
  values: Readonly<Record<string, string | null>>;
}>;

/** Variables were set from outside; merged into those there are. */
export type VariablesSet = Readonly<Asked & { type: 'VariablesSet'; at: Instant; variables: JsonObject }>;

/** A task that has not begun is to be skipped when it is reached. */
export type SkipRequested = Readonly<
  Asked & {
    type: 'SkipRequested';
    at: Instant;
    /** Its wire ref; a plain ref of a task in a loop means the iteration that reaches it next. */
    ref: string;
    input?: JsonObject;
    output: JsonObject;
  }
>;

/** A task is over without having come to its end: the run goes on behind it. Legal for a slot that has not ended. */
export type TaskSkipped = Readonly<
  TaskSlot & {
    type: 'TaskSkipped';
    at: Instant;
    taskType: string;
    taskName: string;
    input: JsonValue;
    output: JsonObject;
    /** The open attempt that ended with it. */
    attempt?: number;
    by?: string;
    reason?: string;
  }
>;

/** An operator took an attempt away and the run was paused; when it is resumed, the task gets another attempt. */
export type TaskCanceled = Readonly<Asked & TaskSlot & { type: 'TaskCanceled'; at: Instant; attempt: number }>;

export type WorkflowEvent =
  | ExecutionStarted
  | TaskScheduled
  | TaskClosed
  | TaskDeadlineMissed
  | TaskRefused
  | TaskTakenFromCache
  | OperatorResolved
  | OperatorOpened
  | LoopIterated
  | OperatorClosed
  | SignalBuffered
  | MessageReceived
  | ExecutionQueued
  | ExecutionAdmitted
  | ExecutionPaused
  | ExecutionResumed
  | ExecutionDeadlineMissed
  | CompensationStarted
  | CompensationEnded
  | ExecutionClosed
  | ExecutionRetried
  | ExecutionRerun
  | TasksRerun
  | ExecutionRestarted
  | ExecutionJumped
  | ExecutionUpgraded
  | EnvironmentRead
  | VariablesSet
  | SkipRequested
  | TaskSkipped
  | TaskCanceled
  | ExecutionAdopted;

export type WorkflowEventType = WorkflowEvent['type'];

/** An event at its place in the log of one execution; `seq` starts at 1 and has no gaps. */
export type SequencedEvent = Readonly<{ seq: number; event: WorkflowEvent }>;
