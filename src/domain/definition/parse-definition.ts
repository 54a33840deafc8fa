import { z } from 'zod';
import type { JsonValue } from '../kernel/json.ts';
import { isJsonObject } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { childPath } from '../kernel/value-path.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import { fieldsOf } from './document-fields.ts';
import { INT32_MAX, LIST_ENTRIES_MAX, PROBLEMS_MAX } from './limits.ts';
import { FAILURE_WORKFLOW_INPUT_FORM, nameProblem } from './names.ts';
import { readNodes, type TreeContext } from './parse-task-node.ts';
import { documentSchema, readDocument } from './read-document.ts';
import { withoutUndefined } from './without-undefined.ts';
import type { Dialect, RateLimitConfig, WorkflowDefinition, WorkflowTimeoutPolicy } from './workflow-definition.ts';

const SCHEMA_VERSION = 2;
const TAG = /^[^:\s]+:.+$/;
const FIRST_VERSION = 1;

/** What each door fills in where nothing is said. */
const DEFAULT_TIMEOUT_POLICY: Readonly<Record<Dialect, WorkflowTimeoutPolicy>> = {
  v1: 'TIME_OUT_WF',
  conductor: 'ALERT_ONLY',
};

/** Settings without effect in this version, with the shape they must have to be stored. */
const storedShape = (door: Dialect) => {
  const field = fieldsOf(door);
  return {
    schemaVersion: field.integer(SCHEMA_VERSION, SCHEMA_VERSION).optional(),
    cacheConfig: field.object.optional(),
    onStateChange: field.object.optional(),
    workflowStatusListenerEnabled: field.flag.optional(),
    workflowStatusListenerSink: field.text.optional(),
  };
};

/** Conductor leaves everything in it open; a limit of 0 there is none. */
const rateLimitShape = (door: Dialect) => {
  const field = fieldsOf(door);
  const shape = {
    rateLimitKey: door === 'v1' ? z.string().min(1) : field.text.optional(),
    concurrentExecLimit: door === 'v1' ? field.integer(1, INT32_MAX) : field.integer(0, INT32_MAX).optional(),
    policy: z.enum(['QUEUE', 'REJECT']).optional(),
  };
  return (door === 'v1' ? z.strictObject(shape) : z.object(shape)) as unknown as z.ZodType<Partial<RateLimitConfig>>;
};

const SCHEMA = documentSchema(
  (door) => {
    const field = fieldsOf(door);
    const schema = z.union([z.string(), field.object]).optional();
    return {
      ...storedShape(door),
      name: field.text,
      version: field.integer(door === 'v1' ? FIRST_VERSION : 0, INT32_MAX).optional(),
      tasks: field.list,
      description: field.text.optional(),
      ownerEmail: field.text.optional(),
      inputParameters: z.array(field.text).optional(),
      inputTemplate: field.object.optional(),
      outputParameters: field.object.optional(),
      variables: field.object.optional(),
      inputSchema: schema,
      outputSchema: schema,
      enforceSchema: field.flag.optional(),
      timeoutSeconds: field.seconds.optional(),
      maxConcurrentTasks: field.integer(0, INT32_MAX).optional(),
      timeoutPolicy: z.enum(['TIME_OUT_WF', 'ALERT_ONLY']).optional(),
      failureWorkflow: field.text.optional(),
      failureWorkflowVersion: field.integer(0, INT32_MAX).optional(),
      restartable: field.flag.optional(),
      maskedFields: z.array(field.text).max(LIST_ENTRIES_MAX).optional(),
      maxConcurrentExecutions: field.integer(0, INT32_MAX).optional(),
      rateLimitConfig: rateLimitShape(door).optional(),
      tags: field.list.optional(),
      metadata: field.object.optional(),
    };
  },
  Object.keys(storedShape('v1')),
);

type WorkflowDocument = z.output<(typeof SCHEMA)['doors']['v1']>;

const checkNames = (fields: WorkflowDocument, context: TreeContext): void => {
  const problem = nameProblem(fields.name, 'name', context.door);
  if (problem !== undefined) context.problems.push(problem);
  const failureWorkflow = fields.failureWorkflow ?? '';
  if (failureWorkflow === '' || context.door === 'conductor' || failureWorkflow.startsWith(FAILURE_WORKFLOW_INPUT_FORM))
    return;
  const failureProblem = nameProblem(failureWorkflow, 'failureWorkflow', context.door);
  if (failureProblem !== undefined) context.problems.push(failureProblem);
};

/** Orkes writes a tag as an object of key and value. */
const tagOf = (tag: JsonValue): string | undefined => {
  if (typeof tag === 'string') return TAG.test(tag) ? tag : undefined;
  if (!isJsonObject(tag) || typeof tag.key !== 'string' || typeof tag.value !== 'string') return undefined;
  return `${tag.key}:${tag.value}`;
};

const tagsOf = (fields: WorkflowDocument, context: TreeContext): readonly string[] => {
  const given = (fields.tags ?? []).slice(0, LIST_ENTRIES_MAX);
  const tags = given.map(tagOf);
  if (context.door === 'v1') {
    tags.forEach((tag, index) => {
      if (tag !== undefined && typeof given[index] === 'string') return;
      const path = childPath('tags', index);
      context.problems.push({ code: 'VALIDATION_FAILED', message: 'a tag is a text of the form key:value', path });
    });
  }
  return tags.filter((tag) => tag !== undefined);
};

/** Conductor takes an empty set of output parameters for none: the last task's output is the output of the run. */
const outputParametersOf = (fields: WorkflowDocument, door: Dialect) => {
  const given = fields.outputParameters;
  return door === 'conductor' && given !== undefined && Object.keys(given).length === 0 ? undefined : given;
};

const rateLimitOf = ({ rateLimitConfig }: WorkflowDocument): RateLimitConfig | undefined => {
  const { rateLimitKey = '', concurrentExecLimit = 0, policy = 'QUEUE' } = rateLimitConfig ?? {};
  return rateLimitKey === '' || concurrentExecLimit === 0 ? undefined : { rateLimitKey, concurrentExecLimit, policy };
};

const readWorkflow = (document: JsonValue, context: TreeContext): WorkflowDefinition | undefined => {
  const { door } = context;
  const read = readDocument(document, '', SCHEMA, context);
  if (read === undefined) return undefined;
  const { fields, extra } = read;
  checkNames(fields, context);
  if (fields.tasks.length === 0) {
    context.problems.push({ code: 'VALIDATION_FAILED', message: 'at least one task is required', path: 'tasks' });
  }
  return withoutUndefined({
    dialect: door,
    name: fields.name,
    version: fields.version ?? FIRST_VERSION,
    description: fields.description,
    ownerEmail: fields.ownerEmail,
    tasks: readNodes(fields.tasks, { path: 'tasks', depth: 1 }, context),
    inputParameters: fields.inputParameters ?? [],
    inputTemplate: fields.inputTemplate ?? {},
    outputParameters: outputParametersOf(fields, door),
    variables: fields.variables ?? {},
    inputSchema: fields.inputSchema,
    outputSchema: fields.outputSchema,
    enforceSchema: fields.enforceSchema ?? true,
    timeoutSeconds: fields.timeoutSeconds ?? 0,
    maxConcurrentTasks: fields.maxConcurrentTasks === 0 ? undefined : fields.maxConcurrentTasks,
    timeoutPolicy: fields.timeoutPolicy ?? DEFAULT_TIMEOUT_POLICY[door],
    failureWorkflow: fields.failureWorkflow ?? '',
    failureWorkflowVersion: fields.failureWorkflowVersion,
    restartable: fields.restartable ?? true,
    maskedFields: fields.maskedFields,
    maxConcurrentExecutions: fields.maxConcurrentExecutions || undefined,
    rateLimitConfig: rateLimitOf(fields),
    tags: tagsOf(fields, context),
    metadata: fields.metadata ?? {},
    extra,
  });
};

/**
 * Reads what a user sent as a workflow definition and fills in the defaults of the door it came through; what comes out is
 * explicit and means the same ever after. A document without a version gets 1; who allocates versions looks at the document.
 * Problems, each with its path, at most 100: VALIDATION_FAILED, INVALID_NAME, LIMIT_EXCEEDED, and on /v1 UNKNOWN_FIELD and
 * UNKNOWN_TASK_TYPE. What needs the whole graph is judged by `checkDefinition` and `compilePlan`.
 */
export const parseWorkflowDefinition = (
  document: JsonValue,
  door: Dialect,
): Result<WorkflowDefinition, readonly DefinitionProblem[]> => {
  const context: TreeContext = { door, problems: [], nodeCount: 0 };
  const definition = readWorkflow(document, context);
  return definition === undefined || context.problems.length > 0
    ? err(context.problems.slice(0, PROBLEMS_MAX))
    : ok(definition);
};
