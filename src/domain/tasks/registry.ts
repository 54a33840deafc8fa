import type { PlanNodeType } from '../definition/plan.ts';
import { doWhile } from './do-while.ts';
import { dynamicFork } from './dynamic-fork.ts';
import { exclusiveJoin } from './exclusive-join.ts';
import { fork } from './fork.ts';
import { join } from './join.ts';
import { noop, setVariable, terminate, unsupported } from './plain-operators.ts';
import { event, kafkaPublish } from './publishing.ts';
import { startWorkflow, subWorkflow } from './sub-workflow.ts';
import { decision, switchTask } from './switch.ts';
import { call, inline, jqTransform, lambda, ofOtherRuns } from './system.ts';
import type { TaskSemantics } from './task-semantics.ts';
import { human, pullMessages, wait, yieldTask } from './waiting.ts';
import { waitForWebhook } from './webhook.ts';
import { dynamic, simple } from './worker.ts';

/** What each type of node does. Total: a missing type does not compile. */
export const registry: { readonly [K in PlanNodeType]: TaskSemantics<K> } = {
  SIMPLE: simple,
  DYNAMIC: dynamic,
  INLINE: inline,
  LAMBDA: lambda,
  JSON_JQ_TRANSFORM: jqTransform,
  GET_WORKFLOW: ofOtherRuns,
  TERMINATE_WORKFLOW: ofOtherRuns,
  UPDATE_TASK: ofOtherRuns,
  HTTP: call,
  HTTP_POLL: call,
  JDBC: call,
  WAIT: wait,
  YIELD: yieldTask,
  HUMAN: human,
  WAIT_FOR_WEBHOOK: waitForWebhook,
  PULL_WORKFLOW_MESSAGES: pullMessages,
  EVENT: event,
  KAFKA_PUBLISH: kafkaPublish,
  SUB_WORKFLOW: subWorkflow,
  START_WORKFLOW: startWorkflow,
  SWITCH: switchTask,
  DECISION: decision,
  FORK_JOIN: fork,
  FORK_JOIN_DYNAMIC: dynamicFork,
  JOIN: join,
  EXCLUSIVE_JOIN: exclusiveJoin,
  DO_WHILE: doWhile,
  SET_VARIABLE: setVariable,
  TERMINATE: terminate,
  NOOP: noop,
  UNSUPPORTED: unsupported,
};

/** The semantics of a node of any type, seen as one interface: the registry's key is the node's own type. */
export const semanticsOf = (type: PlanNodeType): TaskSemantics<PlanNodeType> =>
  registry[type] as TaskSemantics<PlanNodeType>;
