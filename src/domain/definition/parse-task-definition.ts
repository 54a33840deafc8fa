import { z } from 'zod';
import type { JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { childPath } from '../kernel/value-path.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import { fieldsOf } from './document-fields.ts';
import { INT32_MAX, PROBLEMS_MAX, RATE_WINDOW_SECONDS_MAX, SEMAPHORES_PER_TASK_MAX } from './limits.ts';
import { nameProblem } from './names.ts';
import { documentSchema, type ReadContext, readDocument } from './read-document.ts';
import { type RetryDocument, retryOverridesOf, retryShape } from './retry-fields.ts';
import type { RateLimit, TaskDefinition } from './task-definition.ts';
import { applyOverrides, defaultTaskPolicy } from './task-policy.ts';
import { templateProblems } from './templates.ts';
import { withoutUndefined } from './without-undefined.ts';
import type { Dialect, RetryOverrides } from './workflow-definition.ts';

/** Settings without effect in this version, with the shape they must have to be stored. */
const storedShape = (door: Dialect) => {
  const field = fieldsOf(door);
  const names = z.array(z.string()).optional();
  return {
    secretOutputFields: names,
    inputKeys: names,
    outputKeys: names,
    runtimeMetadata: names,
    isolationGroupId: field.text.optional(),
    executionNameSpace: field.text.optional(),
    baseType: field.text.optional(),
    taskStatusListenerEnabled: field.flag.optional(),
    metadata: field.object.optional(),
    tags: field.list.optional(),
  };
};

/** A schema that is given is meant; Conductor's task definitions have to say so. */
const ENFORCES_SCHEMA: Readonly<Record<Dialect, boolean>> = { v1: true, conductor: false };

const SCHEMA = documentSchema(
  (door) => {
    const field = fieldsOf(door);
    const schema = z.union([z.string(), field.object]).optional();
    return {
      ...storedShape(door),
      ...retryShape(door),
      name: field.text.optional(),
      description: field.text.optional(),
      ownerEmail: field.text.optional(),
      retryBudget: field.decimal(0, 1).optional(),
      concurrentExecLimit: field.integer(0, INT32_MAX).optional(),
      rateLimitPerFrequency: field.integer(0, INT32_MAX).optional(),
      rateLimitFrequencyInSeconds: field.integer(door === 'v1' ? 1 : 0, RATE_WINDOW_SECONDS_MAX).optional(),
      semaphores: z.array(z.string()).max(SEMAPHORES_PER_TASK_MAX).optional(),
      inputTemplate: field.object.optional(),
      inputSchema: schema,
      outputSchema: schema,
      enforceSchema: field.flag.optional(),
    };
  },
  Object.keys(storedShape('v1')),
);

/** Conductor fills in its default before it compares, and so refuses timeoutSeconds 60 without a responseTimeoutSeconds. */
const heartbeatOf = (settings: RetryOverrides, door: Dialect): number | undefined =>
  settings.heartbeatTimeout ?? (door === 'conductor' ? defaultTaskPolicy(door).heartbeatMs / 1_000 : undefined);

const exceeds = (inner: number | undefined, outer: number | undefined): boolean =>
  inner !== undefined && inner > 0 && outer !== undefined && outer > 0 && inner > outer;

/** The spelling the user chose, so that the path of a problem is one that is in the document. */
const spelled = <A extends string, B extends string>(
  document: Readonly<Partial<Record<A | B, unknown>>>,
  [ours, conductors]: readonly [A, B],
  door: Dialect,
): A | B => {
  if (document[ours] !== undefined) return ours;
  return document[conductors] !== undefined || door === 'conductor' ? conductors : ours;
};

const crossProblems = (
  document: RetryDocument,
  settings: RetryOverrides,
  path: string,
  door: Dialect,
): readonly DefinitionProblem[] => {
  const heartbeat = spelled(document, ['heartbeatTimeout', 'responseTimeoutSeconds'], door);
  const startToClose = spelled(document, ['startToCloseTimeout', 'timeoutSeconds'], door);
  const total = spelled(document, ['totalTimeout', 'totalTimeoutSeconds'], door);
  const problem = (inner: string, outer: string): DefinitionProblem => ({
    code: 'VALIDATION_FAILED',
    message: `"${inner}" must not be longer than "${outer}"`,
    path: childPath(path, inner),
  });
  return [
    ...(exceeds(heartbeatOf(settings, door), settings.startToCloseTimeout) ? [problem(heartbeat, startToClose)] : []),
    ...(exceeds(settings.startToCloseTimeout, settings.totalTimeout) ? [problem(startToClose, total)] : []),
  ];
};

/** Conductor counts in windows of a second where none, or none of any length, is given. */
const rateLimitOf = (
  fields: Readonly<{ rateLimitPerFrequency?: number | undefined; rateLimitFrequencyInSeconds?: number | undefined }>,
): RateLimit | undefined => {
  const leases = fields.rateLimitPerFrequency ?? 0;
  return leases === 0 ? undefined : { leases, windowSeconds: Math.max(1, fields.rateLimitFrequencyInSeconds ?? 1) };
};

/** Each once and by name, so that a definition means the same in whatever order it lists them. */
const semaphoresOf = (names: readonly string[], path: string, context: ReadContext): readonly string[] | undefined => {
  names.forEach((name, index) => {
    const problem = nameProblem(name, childPath(childPath(path, 'semaphores'), index), context.door);
    if (problem !== undefined) context.problems.push(problem);
  });
  return names.length === 0 ? undefined : [...new Set(names)].sort();
};

/** A definition written inside a node is named by the node, and Conductor does not compare its timeouts. */
type Embedding = Readonly<{ nodeName: string }>;

/** Reads a task definition at a path of a larger document. Undefined, with the problems added, when it does not fit. */
export const readTaskDefinition = (
  document: JsonValue,
  path: string,
  context: ReadContext,
  embedded?: Embedding,
): TaskDefinition | undefined => {
  const { door, problems } = context;
  const read = readDocument(document, path, SCHEMA, context);
  if (read === undefined) return undefined;
  const { fields, extra } = read;
  const name = fields.name ?? embedded?.nodeName;
  if (name === undefined) {
    problems.push({ code: 'VALIDATION_FAILED', message: 'a name is required', path: childPath(path, 'name') });
    return undefined;
  }
  const named = nameProblem(name, childPath(path, 'name'), door);
  if (named !== undefined) problems.push(named);
  problems.push(...templateProblems(fields.inputTemplate ?? {}, childPath(path, 'inputTemplate')));
  const settings = retryOverridesOf(fields, path, context);
  const base = defaultTaskPolicy(door);
  if (embedded === undefined || door === 'v1') problems.push(...crossProblems(fields, settings, path, door));
  return withoutUndefined({
    name,
    description: fields.description,
    ownerEmail: fields.ownerEmail,
    policy: applyOverrides({ ...base, retryBudget: fields.retryBudget ?? base.retryBudget ?? 1 }, settings, door),
    concurrentExecLimit: fields.concurrentExecLimit ?? 0,
    rateLimit: rateLimitOf(fields),
    semaphores: semaphoresOf(fields.semaphores ?? [], path, context),
    inputTemplate: fields.inputTemplate ?? {},
    inputSchema: fields.inputSchema,
    outputSchema: fields.outputSchema,
    enforceSchema: fields.enforceSchema ?? ENFORCES_SCHEMA[door],
    extra,
  });
};

/**
 * Reads what a user sent as a task definition and fills in the defaults of the door; durations come out in milliseconds.
 * Problems: VALIDATION_FAILED, UNKNOWN_FIELD (on /v1), INVALID_NAME, each with its path.
 */
export const parseTaskDefinition = (
  document: JsonValue,
  door: Dialect,
): Result<TaskDefinition, readonly DefinitionProblem[]> => {
  const problems: DefinitionProblem[] = [];
  const definition = readTaskDefinition(document, '', { door, problems });
  return definition === undefined || problems.length > 0 ? err(problems.slice(0, PROBLEMS_MAX)) : ok(definition);
};
