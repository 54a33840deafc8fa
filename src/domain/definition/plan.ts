import type { JsonPath } from '../expression/json-path-ast.ts';
import type { CompiledTemplate } from '../expression/parse-template.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { Listeners } from './compile-listeners.ts';
import type { EnforcedSchemas } from './schemas.ts';
import type { TaskDefinition, TaskPolicy } from './task-definition.ts';
import type {
  Dialect,
  OperatorType,
  PublishingTaskType,
  SystemTaskType,
  TaskNodeDefinition,
  WaitingTaskType,
  WorkflowDefinition,
  WorkflowTimeoutPolicy,
} from './workflow-definition.ts';

/** Where a list of nodes hangs: what happens when its last node has settled is the owner's business. */
export type SequenceOwner =
  | Readonly<{ kind: 'root' }>
  | Readonly<{ kind: 'case'; node: string }>
  | Readonly<{ kind: 'branch'; node: string; index: number }>
  | Readonly<{ kind: 'body'; node: string }>
  /** The one step that undoes `node`; nothing ever follows it. */
  | Readonly<{ kind: 'compensation'; node: string }>;

/** Nodes that run one after the other. Never empty, except the root of a plan that only data fills. */
export type Sequence = Readonly<{ owner: SequenceOwner; nodes: readonly PlanNode[] }>;

/** How a script or value decides: the forms of SWITCH, DECISION, DO_WHILE and JOIN. */
export type Chooser =
  /** The value of one resolved input, as text. */
  | Readonly<{ kind: 'input'; name: string }>
  /** A template that gives the value. */
  | Readonly<{ kind: 'template'; template: CompiledTemplate }>
  /** A JSONPath over the resolved inputs. */
  | Readonly<{ kind: 'path'; path: JsonPath }>
  /** JavaScript over `$`. */
  | Readonly<{ kind: 'script'; source: string }>
  /** The comparison grammar. */
  | Readonly<{ kind: 'condition'; source: string }>;

/** Where the output of a task may come from instead of a worker: whoever had the same key within the time. */
export type CachePlan = Readonly<{ key: CompiledTemplate; ttlMs: number }>;

type NodeBase = Readonly<{
  ref: string;
  name: string;
  /** inputParameters, compiled once. */
  input: CompiledTemplate;
  optional: boolean;
  permissive: boolean;
  startDelayMs: number;
  /** The sequence it stands in and its place there. */
  sequence: Sequence;
  index: number;
  /** Refs of the DO_WHILEs around it, outermost first: one iteration suffix each. */
  loops: readonly string[];
  /** What its input and output are checked against; absent where nothing is. */
  schemas?: EnforcedSchemas;
  /** What undoes it when the run fails after it completed. */
  compensation: PlanNode | undefined;
  cache?: CachePlan;
  /** Who is told of its changes, besides those of the whole definition; absent where nobody is. */
  listeners?: Listeners;
  definition: TaskNodeDefinition;
}>;

export type WorkerNode = NodeBase &
  Readonly<{ type: 'SIMPLE'; policy: TaskPolicy; inputTemplate: CompiledTemplate | undefined }>;
/** Its task definition is known at run time only; `overrides` of the node still count. */
export type DynamicNode = NodeBase & Readonly<{ type: 'DYNAMIC'; nameParameter: string }>;
export type SystemNode = NodeBase &
  Readonly<{
    type: SystemTaskType;
    policy: TaskPolicy;
    /** Of a call: what its task definition says of the request. */
    inputTemplate?: CompiledTemplate;
  }>;
export type WaitingNode = NodeBase &
  Readonly<{ type: Exclude<WaitingTaskType, PublishingTaskType | 'SUB_WORKFLOW'>; policy: TaskPolicy }>;
export type PublishingNode = NodeBase &
  Readonly<{
    type: PublishingTaskType;
    policy: TaskPolicy;
    /** Where an EVENT goes. Undefined: the definition says nothing, or the type is told by its input. */
    sink: CompiledTemplate | undefined;
    /** The task stays open after the message is owed, until somebody answers. */
    asyncComplete: boolean;
  }>;
export type SubWorkflowNode = NodeBase &
  Readonly<{
    type: 'SUB_WORKFLOW';
    policy: TaskPolicy;
    /** Its subWorkflowParam, compiled; a definition written out in it is not in here. */
    child: CompiledTemplate;
    /** The definition written out: its expressions are the child's, so it is taken as it is. */
    inline: JsonObject | undefined;
  }>;
export type SwitchNode = NodeBase &
  Readonly<{
    type: 'SWITCH' | 'DECISION';
    chooser: Chooser;
    /** A case without tasks maps to undefined: it is taken and does nothing. */
    cases: ReadonlyMap<string, Sequence | undefined>;
    fallback: Sequence | undefined;
  }>;
export type ForkNode = NodeBase & Readonly<{ type: 'FORK_JOIN'; branches: readonly Sequence[]; join: string }>;
export type DynamicForkNode = NodeBase & Readonly<{ type: 'FORK_JOIN_DYNAMIC'; join: string }>;
export type JoinNode = NodeBase &
  Readonly<{
    type: 'JOIN';
    /** Refs waited for; empty: the last task of every branch of `fork`. */
    joinOn: readonly string[];
    /** The fork right before it; undefined only where joinOn names what is waited for. */
    fork: string | undefined;
    /** Orkes' join script. */
    script: string | undefined;
  }>;
export type ExclusiveJoinNode = NodeBase &
  Readonly<{
    type: 'EXCLUSIVE_JOIN';
    joinOn: readonly string[];
    fallbacks: readonly string[];
    fork: string | undefined;
  }>;
export type LoopNode = NodeBase &
  Readonly<{
    type: 'DO_WHILE';
    body: Sequence;
    condition: Chooser | undefined;
    /** The script or condition looks into outputs of earlier iterations, beyond their number. */
    readsHistory: boolean;
    items: CompiledTemplate | undefined;
    /** Iterations kept in the output; undefined: all. A template may give it too: then it is an input named keepLastN. */
    keepLastN: number | undefined;
  }>;
export type PlainOperatorNode = NodeBase & Readonly<{ type: 'SET_VARIABLE' | 'TERMINATE' | 'NOOP' }>;
/** A Conductor type that this version does not execute: it fails when it is reached, naming its type. */
export type UnsupportedNode = NodeBase & Readonly<{ type: 'UNSUPPORTED'; declaredType: string }>;

export type PlanNode =
  | WorkerNode
  | DynamicNode
  | SystemNode
  | WaitingNode
  | PublishingNode
  | SubWorkflowNode
  | SwitchNode
  | ForkNode
  | DynamicForkNode
  | JoinNode
  | ExclusiveJoinNode
  | LoopNode
  | PlainOperatorNode
  | UnsupportedNode;

export type PlanNodeType = PlanNode['type'];
export type { OperatorType };

/** What a start of the definition has to pass; most definitions have none, and their runs never pay for it. */
export type PlanGates = Readonly<{
  /** Runs of the name at a time. */
  concurrentMax: number | undefined;
  /** Runs of the name and one key at a time. */
  perKey: Readonly<{ key: CompiledTemplate; limit: number; waits: boolean }> | undefined;
}>;

/** A definition compiled: all that `decide` reads, nothing parsed twice. */
export type Plan = Readonly<{
  hash: string;
  dialect: Dialect;
  definition: WorkflowDefinition;
  /** Those that it names, as they were when they were frozen with it. */
  taskDefinitions: Readonly<Record<string, TaskDefinition>>;
  root: Sequence;
  /** Every node, at any depth, by ref. */
  nodes: ReadonlyMap<string, PlanNode>;
  outputParameters: CompiledTemplate | undefined;
  schemas: EnforcedSchemas | undefined;
  timeoutMs: number;
  timeoutPolicy: WorkflowTimeoutPolicy;
  /** Who is told of the changes of every task. */
  listeners: Listeners | undefined;
  /** Where the changes of the run itself are told. */
  statusSink: string | undefined;
  /** Somebody listens to something. */
  isHeard: boolean;
  gates: PlanGates | undefined;
  /** Names of the environment values that its expressions can read, `*` for all; most read none, and never ask. */
  environment: readonly string[];
  /** Infinity: no limit. */
  tasksInFlightMax: number;
}>;
