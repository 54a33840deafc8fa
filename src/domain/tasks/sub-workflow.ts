import { readChildFields } from '../definition/child-fields.ts';
import type { ChildStart } from '../execution/events.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { evaluated, resolvedInput, type Step, type TaskSemantics } from './task-semantics.ts';

type Child = Omit<ChildStart, 'executionId'>;

const dispatch = (input: JsonObject, taskName: string, type: string, child: Result<Child, string>): Step =>
  child.ok
    ? { kind: 'dispatch', input, taskName, child: child.value }
    : { kind: 'refuse', input, reason: `${type}: ${child.error}.` };

/** What an expression gave for the definition: an object is one, and nothing else can be. */
const definitionOf = (given: JsonValue | undefined, field: string): Result<Pick<Child, 'definition'>, string> => {
  if (given === undefined || given === null) return ok({});
  if (isJsonObject(given)) return ok({ definition: given });
  return err(`${field} must be a workflow definition; it is ${JSON.stringify(given).slice(0, 200)}`);
};

const childOf = (params: JsonValue, isWrittenOut: boolean): Result<Child, string> => {
  const given = isJsonObject(params) ? params : {};
  const fields = readChildFields(given);
  if (!fields.ok) return err(fields.error.message);
  const definition = definitionOf(given.workflowDefinition, 'workflowDefinition');
  if (!definition.ok) return definition;
  const child = { ...fields.value, ...definition.value };
  if (child.name !== undefined || child.definition !== undefined || isWrittenOut) return ok(child);
  return err('subWorkflowParam names no workflow');
};

/** Starts a child and waits for its end, which comes as the outcome of the attempt. Its input is the child's. */
export const subWorkflow: TaskSemantics<'SUB_WORKFLOW'> = {
  family: 'waiting',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const { node } = context;
    const params = evaluated(context, node.child, 'subWorkflowParam');
    if (!params.ok) return params.step;
    return dispatch(resolved.input, node.name, 'SUB_WORKFLOW', childOf(params.value, node.inline !== undefined));
  },
};

const startOf = (request: JsonValue | undefined): Result<Child, string> => {
  if (!isJsonObject(request)) return err('the input "startWorkflow" must be an object');
  const { input = null, workflowDef = null } = request;
  if (input !== null && !isJsonObject(input)) return err('the input of startWorkflow must be an object');
  if (workflowDef !== null && !isJsonObject(workflowDef)) return err('workflowDef must be a workflow definition');
  const fields = readChildFields(request);
  if (!fields.ok) return err(fields.error.message);
  if (fields.value.name === undefined && workflowDef === null) return err('startWorkflow names no workflow');
  return ok(fields.value);
};

/** Starts a run that belongs to nobody; the task ends when the run is on record, so that a refused start is seen. */
export const startWorkflow: TaskSemantics<'START_WORKFLOW'> = {
  family: 'waiting',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    return dispatch(resolved.input, context.node.name, 'START_WORKFLOW', startOf(resolved.input.startWorkflow));
  },
};
