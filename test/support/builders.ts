import { compilePlan } from '../../src/domain/definition/compile-plan.ts';
import { parseWorkflowDefinition } from '../../src/domain/definition/parse-definition.ts';
import { parseTaskDefinition } from '../../src/domain/definition/parse-task-definition.ts';
import type { Plan } from '../../src/domain/definition/plan.ts';
import type { TaskDefinition } from '../../src/domain/definition/task-definition.ts';
import type { Dialect } from '../../src/domain/definition/workflow-definition.ts';
import type { JsonObject, JsonValue } from '../../src/domain/kernel/json.ts';

/** A step of a definition as a user writes it. */
export type Step = JsonObject;

const step = (type: string, ref: string, fields: JsonObject): Step => ({
  name: ref,
  taskReferenceName: ref,
  type,
  ...fields,
});

export const simple = (ref: string, fields: JsonObject = {}): Step => step('SIMPLE', ref, fields);
export const noop = (ref: string, fields: JsonObject = {}): Step => step('NOOP', ref, fields);
export const wait = (ref: string, inputParameters: JsonObject = {}, fields: JsonObject = {}): Step =>
  step('WAIT', ref, { inputParameters, ...fields });
export const yieldStep = (ref: string): Step => step('YIELD', ref, {});
export const human = (ref: string, fields: JsonObject = {}): Step => step('HUMAN', ref, fields);
export const webhook = (ref: string, inputParameters: JsonObject = {}, fields: JsonObject = {}): Step =>
  step('WAIT_FOR_WEBHOOK', ref, { inputParameters, ...fields });
export const pull = (ref: string, inputParameters: JsonObject = {}, fields: JsonObject = {}): Step =>
  step('PULL_WORKFLOW_MESSAGES', ref, { inputParameters, ...fields });
export const eventStep = (ref: string, sink: string, fields: JsonObject = {}): Step =>
  step('EVENT', ref, { sink, ...fields });
export const setVariable = (ref: string, inputParameters: JsonObject, fields: JsonObject = {}): Step =>
  step('SET_VARIABLE', ref, { inputParameters, ...fields });
export const terminate = (ref: string, terminationStatus: string, inputParameters: JsonObject = {}): Step =>
  step('TERMINATE', ref, { inputParameters: { terminationStatus, ...inputParameters } });

/** Chooses by the value of a template. */
export const switchOn = (
  ref: string,
  value: JsonValue,
  cases: Readonly<Record<string, readonly Step[]>>,
  defaultCase: readonly Step[] = [],
  fields: JsonObject = {},
): Step =>
  step('SWITCH', ref, {
    evaluatorType: 'value-param',
    expression: 'value',
    inputParameters: { value },
    decisionCases: cases,
    defaultCase,
    ...fields,
  });

export const fork = (ref: string, branches: readonly (readonly Step[])[], fields: JsonObject = {}): Step =>
  step('FORK_JOIN', ref, { forkTasks: branches, ...fields });
export const join = (ref: string, joinOn: readonly string[] = [], fields: JsonObject = {}): Step =>
  step('JOIN', ref, { joinOn, ...fields });
export const exclusiveJoin = (ref: string, joinOn: readonly string[], fields: JsonObject = {}): Step =>
  step('EXCLUSIVE_JOIN', ref, { joinOn, ...fields });

/** Runs its body while a script holds, or `times` times. */
export const loop = (ref: string, until: string | number, body: readonly Step[], fields: JsonObject = {}): Step =>
  step('DO_WHILE', ref, {
    loopCondition: typeof until === 'number' ? `$.${ref}.iteration < ${until}` : until,
    loopOver: body,
    ...fields,
  });
export const loopOverItems = (ref: string, items: JsonValue, body: readonly Step[], fields: JsonObject = {}): Step =>
  step('DO_WHILE', ref, { items, loopOver: body, ...fields });

/** Whole tasks in the input `tasks`, their inputs in the input `inputs`. */
export const dynamicFork = (ref: string, tasks: JsonValue, inputs: JsonValue = {}, fields: JsonObject = {}): Step =>
  step('FORK_JOIN_DYNAMIC', ref, {
    dynamicForkTasksParam: 'tasks',
    dynamicForkTasksInputParamName: 'inputs',
    inputParameters: { tasks, inputs },
    ...fields,
  });

export type Workflow = Readonly<{
  tasks: readonly Step[];
  fields?: JsonObject;
  door?: Dialect;
  /** As users write them. */
  taskDefinitions?: readonly JsonObject[];
}>;

const failure = (what: string, problems: unknown): Error => new Error(`${what}: ${JSON.stringify(problems)}`);

/** Task definitions by name, as the door reads them. */
export const taskDefinitionsOf = ({ taskDefinitions = [], door = 'v1' }: Workflow): Record<string, TaskDefinition> => {
  const definitions: Record<string, TaskDefinition> = {};
  for (const document of taskDefinitions) {
    const parsed = parseTaskDefinition(document, door);
    if (!parsed.ok) throw failure('task definition', parsed.error);
    definitions[parsed.value.name] = parsed.value;
  }
  return definitions;
};

/** Reads and compiles a definition as registration does. */
export const planOf = (workflow: Workflow): Plan => {
  const document = { name: 'flow', version: 1, tasks: workflow.tasks, ...workflow.fields };
  const parsed = parseWorkflowDefinition(document, workflow.door ?? 'v1');
  if (!parsed.ok) throw failure('definition', parsed.error);
  const plan = compilePlan({ workflow: parsed.value, taskDefinitions: taskDefinitionsOf(workflow) }, 'hash');
  if (!plan.ok) throw failure('plan', plan.error);
  return plan.value;
};
