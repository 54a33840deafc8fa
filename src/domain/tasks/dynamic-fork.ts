import { compileBranches } from '../definition/compile-branches.ts';
import { parseTaskNode } from '../definition/parse-task-node.ts';
import type { TaskNodeDefinition } from '../definition/workflow-definition.ts';
import type { DynamicBranch } from '../execution/events.ts';
import { keyAt } from '../execution/task-key.ts';
import { isJsonObject, type JsonObject } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { type EnterContext, resolvedInput, type TaskSemantics } from './task-semantics.ts';

/** Branches that one dynamic fork may have. */
export const DYNAMIC_BRANCHES_MAX = 10_000;

type Context = EnterContext<'FORK_JOIN_DYNAMIC'>;
type Branches = Result<readonly TaskNodeDefinition[], string>;

const withInput = (node: TaskNodeDefinition, input: JsonObject): TaskNodeDefinition => ({
  ...node,
  literalInput: input,
});

/** Whole tasks in one input, their inputs by ref in another. */
const fromTasks = (context: Context, input: JsonObject, param: string, inputsParam: string | undefined): Branches => {
  const tasks = input[param];
  const inputs = inputsParam === undefined ? undefined : input[inputsParam];
  if (!Array.isArray(tasks)) return err(`Input ${param} must be a list of tasks.`);
  const nodes: TaskNodeDefinition[] = [];
  for (const [index, task] of tasks.entries()) {
    const node = parseTaskNode(task, context.state.plan.dialect, `${param}[${index}]`);
    if (!node.ok) return err(node.error.map((problem) => `${problem.path}: ${problem.message}`).join('; '));
    const own = isJsonObject(inputs) ? inputs[node.value.taskReferenceName] : undefined;
    nodes.push(isJsonObject(own) ? withInput(node.value, own) : node.value);
  }
  return ok(nodes);
};

/** Conductor's older form: `{dynamicTasks: [{taskName, referenceName, type, input}]}`. */
const fromLegacy = (context: Context, input: JsonObject, param: string): Branches => {
  const holder = input[param];
  const tasks = isJsonObject(holder) ? holder.dynamicTasks : holder;
  if (!Array.isArray(tasks)) return err(`Input ${param} must hold a list dynamicTasks.`);
  const nodes: TaskNodeDefinition[] = [];
  for (const [index, task] of tasks.entries()) {
    if (!isJsonObject(task)) return err(`${param}.dynamicTasks[${index}] is no object.`);
    const document = {
      name: task.taskName ?? task.name ?? null,
      taskReferenceName: task.referenceName ?? task.taskReferenceName ?? null,
      type: task.type ?? 'SIMPLE',
    };
    const node = parseTaskNode(document, context.state.plan.dialect, `${param}.dynamicTasks[${index}]`);
    if (!node.ok) return err(node.error.map((problem) => `${problem.path}: ${problem.message}`).join('; '));
    const own = task.input;
    nodes.push(isJsonObject(own) ? withInput(node.value, own) : node.value);
  }
  return ok(nodes);
};

/** The same task over a list of inputs; refs are made from its name, and `__index` joins each input. */
const fromInputs = (context: Context, input: JsonObject): Branches => {
  const inputs = input.forkTaskInputs;
  const type = input.forkTaskType ?? 'SIMPLE';
  const name = input.forkTaskName ?? (typeof type === 'string' ? type : null);
  if (!Array.isArray(inputs)) return err('Input forkTaskInputs must be a list.');
  const base = `_${context.node.ref}_${String(name)}`;
  const first = parseTaskNode({ name, taskReferenceName: base, type }, context.state.plan.dialect, 'forkTaskName');
  if (!first.ok) return err(first.error.map((problem) => `${problem.path}: ${problem.message}`).join('; '));
  return ok(
    inputs.map((item, index) => {
      const own: JsonObject = isJsonObject(item) ? item : { input: item };
      return withInput({ ...first.value, taskReferenceName: `${base}_${index}` }, { ...own, __index: index });
    }),
  );
};

const branchesOf = (context: Context, input: JsonObject): Branches => {
  const { dynamicForkTasksParam, dynamicForkTasksInputParamName, dynamicForkJoinTasksParam } = context.node.definition;
  if (dynamicForkTasksParam !== undefined) {
    return fromTasks(context, input, dynamicForkTasksParam, dynamicForkTasksInputParamName);
  }
  if (dynamicForkJoinTasksParam !== undefined) return fromLegacy(context, input, dynamicForkJoinTasksParam);
  return fromInputs(context, input);
};

/** What is wrong with branches that data asked for: too many, refs twice, or refs that the definition has. */
const problemOf = (context: Context, branches: readonly DynamicBranch[]): string | undefined => {
  if (branches.length > DYNAMIC_BRANCHES_MAX) return `A dynamic fork has at most ${DYNAMIC_BRANCHES_MAX} branches.`;
  const compiled = compileBranches(context.node, branches, context.state.plan);
  if (!compiled.ok) return compiled.error.map((problem) => `${problem.path}: ${problem.message}`).join('; ');
  for (const ref of compiled.value.nodes.keys()) {
    if (context.state.tasks.has(keyAt(ref, context.path))) return `The ref ${ref} is taken by another dynamic fork.`;
  }
  return undefined;
};

/** Starts as many branches as data asks for; the JOIN after it waits for all. */
export const dynamicFork: TaskSemantics<'FORK_JOIN_DYNAMIC'> = {
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const nodes = branchesOf(context, resolved.input);
    if (!nodes.ok) return { kind: 'refuse', input: {}, reason: nodes.error };
    const branches = nodes.value.map((node) => [node]);
    const problem = problemOf(context, branches);
    if (problem !== undefined) return { kind: 'refuse', input: {}, reason: problem };
    // The branches are in the fact themselves; the input would only say it again.
    return { kind: 'resolve', input: {}, output: { branches: branches.length }, effect: { branches } };
  },
};
