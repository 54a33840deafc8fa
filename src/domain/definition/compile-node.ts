import type { CompiledTemplate } from '../expression/parse-template.ts';
import { childPath } from '../kernel/value-path.ts';
import { type Compilation, type Draft, isBlank, report, taskDefinitionOf } from './compilation.ts';
import { compileDynamicFork, compileExclusiveJoin, compileFork, compileJoin } from './compile-fork.ts';
import { compileLoop } from './compile-loop.ts';
import { compileSwitch } from './compile-switch.ts';
import type { PlanNode } from './plan.ts';
import { subWorkflowParts } from './sub-workflow-parts.ts';
import { policyOf } from './task-policy.ts';
import { executedTypeOf } from './task-types.ts';
import { compiledOrProblems } from './templates.ts';
import type {
  CallTaskType,
  PublishingTaskType,
  SystemTaskType,
  TaskType,
  WaitingTaskType,
} from './workflow-definition.ts';

type Compile = (draft: Draft, compilation: Compilation) => PlanNode | undefined;

const policyAt = (draft: Draft, compilation: Compilation) =>
  policyOf(draft.definition, taskDefinitionOf(draft.definition, compilation), compilation.dialect);

const inputTemplateAt = (draft: Draft, compilation: Compilation): CompiledTemplate | undefined => {
  const template = taskDefinitionOf(draft.definition, compilation)?.inputTemplate ?? {};
  const path = childPath(childPath(draft.path, 'taskDefinition'), 'inputTemplate');
  return Object.keys(template).length === 0 ? undefined : compiledOrProblems(template, path, compilation.problems);
};

const compileWorker: Compile = (draft, compilation) => {
  const inputTemplate = inputTemplateAt(draft, compilation);
  return { ...draft.base, type: 'SIMPLE', policy: policyAt(draft, compilation), inputTemplate };
};

const compileCall =
  (type: CallTaskType): Compile =>
  (draft, compilation) => {
    const inputTemplate = inputTemplateAt(draft, compilation);
    const given = inputTemplate === undefined ? {} : { inputTemplate };
    return { ...draft.base, type, policy: policyAt(draft, compilation), ...given };
  };

const compileDynamic: Compile = (draft, compilation) => {
  const { dynamicTaskNameParam } = draft.definition;
  if (!isBlank(dynamicTaskNameParam)) return { ...draft.base, type: 'DYNAMIC', nameParameter: dynamicTaskNameParam };
  const path = childPath(draft.path, 'dynamicTaskNameParam');
  return report(compilation, 'VALIDATION_FAILED', 'a DYNAMIC needs a dynamicTaskNameParam', path);
};

const compileSubWorkflow: Compile = (draft, compilation) => {
  const { inline, rest } = subWorkflowParts(draft.definition);
  const child = compiledOrProblems(rest, childPath(draft.path, 'subWorkflowParam'), compilation.problems);
  if (child === undefined) return undefined;
  return { ...draft.base, type: 'SUB_WORKFLOW', policy: policyAt(draft, compilation), child, inline };
};

const compileTask =
  (
    type: Exclude<SystemTaskType, CallTaskType> | Exclude<WaitingTaskType, PublishingTaskType | 'SUB_WORKFLOW'>,
  ): Compile =>
  (draft, compilation) =>
    ({ ...draft.base, type, policy: policyAt(draft, compilation) }) as PlanNode;

const compilePublishing =
  (type: PublishingTaskType): Compile =>
  (draft, compilation) => {
    const { sink, asyncComplete } = draft.definition.extra;
    const path = childPath(draft.path, 'sink');
    const template =
      type !== 'EVENT' || sink === undefined ? undefined : compiledOrProblems(sink, path, compilation.problems);
    const policy = policyAt(draft, compilation);
    return { ...draft.base, type, policy, sink: template, asyncComplete: asyncComplete === true };
  };

const compilePlain =
  (type: 'SET_VARIABLE' | 'TERMINATE' | 'NOOP'): Compile =>
  (draft) => ({ ...draft.base, type });

const COMPILERS: Readonly<Record<TaskType | 'UNSUPPORTED', Compile>> = {
  SIMPLE: compileWorker,
  DYNAMIC: compileDynamic,
  INLINE: compileTask('INLINE'),
  LAMBDA: compileTask('LAMBDA'),
  JSON_JQ_TRANSFORM: compileTask('JSON_JQ_TRANSFORM'),
  GET_WORKFLOW: compileTask('GET_WORKFLOW'),
  TERMINATE_WORKFLOW: compileTask('TERMINATE_WORKFLOW'),
  UPDATE_TASK: compileTask('UPDATE_TASK'),
  HTTP: compileCall('HTTP'),
  HTTP_POLL: compileCall('HTTP_POLL'),
  JDBC: compileCall('JDBC'),
  WAIT: compileTask('WAIT'),
  YIELD: compileTask('YIELD'),
  HUMAN: compileTask('HUMAN'),
  WAIT_FOR_WEBHOOK: compileTask('WAIT_FOR_WEBHOOK'),
  PULL_WORKFLOW_MESSAGES: compileTask('PULL_WORKFLOW_MESSAGES'),
  EVENT: compilePublishing('EVENT'),
  KAFKA_PUBLISH: compilePublishing('KAFKA_PUBLISH'),
  SUB_WORKFLOW: compileSubWorkflow,
  START_WORKFLOW: compileTask('START_WORKFLOW'),
  SWITCH: compileSwitch,
  DECISION: compileSwitch,
  FORK_JOIN: compileFork,
  FORK_JOIN_DYNAMIC: compileDynamicFork,
  JOIN: compileJoin,
  EXCLUSIVE_JOIN: compileExclusiveJoin,
  DO_WHILE: compileLoop,
  SET_VARIABLE: compilePlain('SET_VARIABLE'),
  TERMINATE: compilePlain('TERMINATE'),
  NOOP: compilePlain('NOOP'),
  UNSUPPORTED: (draft) => ({ ...draft.base, type: 'UNSUPPORTED', declaredType: draft.definition.type }),
};

/** Compiles one node with all below it. Undefined, with the problems added, when it cannot be built. */
export const compileNode: Compile = (draft, compilation) =>
  COMPILERS[executedTypeOf(draft.definition.type)](draft, compilation);
