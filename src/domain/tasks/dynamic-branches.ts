import type { DefinitionProblem } from '../definition/definition-problem.ts';
import { parseTaskNode } from '../definition/parse-task-node.ts';
import type { Dialect, TaskNodeDefinition } from '../definition/workflow-definition.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { type EnterContext, inputNamed } from './task-semantics.ts';

type Context = EnterContext<'FORK_JOIN_DYNAMIC'>;
type Node = Result<TaskNodeDefinition, string>;
type Nodes = Result<readonly TaskNodeDefinition[], string>;

/** Branches that one dynamic fork may have. */
export const DYNAMIC_BRANCHES_MAX = 10_000;

/** Problems told of one fork at most; the others would say the same. */
const PROBLEMS_TOLD_MAX = 5;

export const problemText = (problems: readonly DefinitionProblem[]): string =>
  problems
    .slice(0, PROBLEMS_TOLD_MAX)
    .map((problem) => `${problem.path}: ${problem.message}`)
    .join('; ');

const withInput = (node: TaskNodeDefinition, input: JsonValue | undefined): TaskNodeDefinition =>
  isJsonObject(input) ? { ...node, literalInput: input } : node;

const parsed = (task: JsonValue, door: Dialect, path: string): Node => {
  const node = parseTaskNode(task, door, path);
  return node.ok ? node : err(problemText(node.error));
};

const collect = (items: readonly JsonValue[], read: (item: JsonValue, index: number) => Node): Nodes => {
  if (items.length > DYNAMIC_BRANCHES_MAX) return err(`A dynamic fork has at most ${DYNAMIC_BRANCHES_MAX} branches.`);
  const nodes: TaskNodeDefinition[] = [];
  for (const [index, item] of items.entries()) {
    const node = read(item, index);
    if (!node.ok) return node;
    nodes.push(node.value);
  }
  return ok(nodes);
};

/** Whole tasks in one input, their inputs by ref in another. */
const fromTasks = (context: Context, input: JsonObject, param: string, inputsParam: string | undefined): Nodes => {
  const tasks = inputNamed(input, param);
  const inputs = inputsParam === undefined ? undefined : inputNamed(input, inputsParam);
  if (!Array.isArray(tasks)) return err(`Input ${param} must be a list of tasks.`);
  return collect(tasks, (task, index) => {
    const node = parsed(task, context.state.plan.dialect, `${param}[${index}]`);
    if (!node.ok || !isJsonObject(inputs)) return node;
    return ok(withInput(node.value, inputNamed(inputs, node.value.taskReferenceName)));
  });
};

/** Conductor's older form: `{dynamicTasks: [{taskName, referenceName, type, input}]}`. */
const fromLegacy = (context: Context, input: JsonObject, param: string): Nodes => {
  const holder = inputNamed(input, param);
  const tasks = isJsonObject(holder) ? holder.dynamicTasks : holder;
  if (!Array.isArray(tasks)) return err(`Input ${param} must hold a list dynamicTasks.`);
  return collect(tasks, (task, index) => {
    const path = `${param}.dynamicTasks[${index}]`;
    if (!isJsonObject(task)) return err(`${path} is no object.`);
    const document = {
      name: task.taskName ?? task.name ?? null,
      taskReferenceName: task.referenceName ?? task.taskReferenceName ?? null,
      type: task.type ?? 'SIMPLE',
    };
    const node = parsed(document, context.state.plan.dialect, path);
    return node.ok ? ok(withInput(node.value, task.input)) : node;
  });
};

/** Conductor makes refs of the task's name alone, and of the fork's too where a definition has several such forks. */
const generatedRef = (context: Context, name: string): string => {
  let forks = 0;
  for (const node of context.state.plan.nodes.values()) if (node.type === 'FORK_JOIN_DYNAMIC') forks += 1;
  const base = forks > 1 ? `_${context.node.ref}_${name}` : `_${name}`;
  // Another "_" before the number would read as an iteration of a loop.
  return base.endsWith('_') ? base : `${base}_`;
};

const subWorkflowOf = ({ forkTaskWorkflow = null, forkTaskWorkflowVersion = null }: JsonObject): JsonObject => ({
  name: forkTaskWorkflow,
  ...(forkTaskWorkflowVersion === null ? {} : { version: forkTaskWorkflowVersion }),
});

/** The same task over a list of inputs; refs are made from its name, and `__index` joins each input. */
const fromInputs = (context: Context, input: JsonObject): Nodes => {
  const { forkTaskInputs, forkTaskWorkflow, forkTaskType = 'SIMPLE' } = input;
  const type = forkTaskWorkflow === undefined ? forkTaskType : 'SUB_WORKFLOW';
  const name = input.forkTaskName ?? forkTaskWorkflow ?? type;
  if (!Array.isArray(forkTaskInputs)) return err('Input forkTaskInputs must be a list.');
  if (typeof name !== 'string') return err('Input forkTaskName must be the name of a task.');
  const base = generatedRef(context, name);
  const child = forkTaskWorkflow === undefined ? {} : { subWorkflowParam: subWorkflowOf(input) };
  const first = parsed({ name, taskReferenceName: `${base}0`, type, ...child }, context.state.plan.dialect, 'forkTask');
  if (!first.ok) return first;
  return collect(forkTaskInputs, (item, index) => {
    const own: JsonObject = isJsonObject(item) ? item : { input: item };
    return ok(withInput({ ...first.value, taskReferenceName: `${base}${index}` }, { ...own, __index: index }));
  });
};

/** The tasks that data asks a dynamic fork for, one a branch, in whichever of Conductor's three forms. */
export const dynamicTasks = (context: Context, input: JsonObject): Nodes => {
  const { dynamicForkTasksParam, dynamicForkTasksInputParamName, dynamicForkJoinTasksParam } = context.node.definition;
  if (dynamicForkTasksParam !== undefined) {
    return fromTasks(context, input, dynamicForkTasksParam, dynamicForkTasksInputParamName);
  }
  if (dynamicForkJoinTasksParam !== undefined) return fromLegacy(context, input, dynamicForkJoinTasksParam);
  return fromInputs(context, input);
};
