import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { childPath } from '../kernel/value-path.ts';
import type { DefinitionProblem, DefinitionProblemCode } from './definition-problem.ts';
import { fieldsOf } from './document-fields.ts';
import { INT32_MAX, NAME_CHARS_MAX, NESTING_MAX, NODES_MAX, PROBLEMS_MAX } from './limits.ts';
import { nameProblem, referenceProblem } from './names.ts';
import { CHILD_FIELD_NAMES, type ChildField, holdsChildren, isEmptyChild } from './node-children.ts';
import { readTaskDefinition } from './parse-task-definition.ts';
import { documentSchema, readDocument } from './read-document.ts';
import { retryOverridesOf, retryShape } from './retry-fields.ts';
import { isTaskType, TASK_TYPES } from './task-types.ts';
import { withoutUndefined } from './without-undefined.ts';
import type { Dialect, TaskNodeDefinition } from './workflow-definition.ts';

/** Settings without effect in this version, with the shape they must have to be stored. */
const storedShape = (door: Dialect) => {
  const field = fieldsOf(door);
  const any = field.any.optional();
  return {
    asyncComplete: field.flag.optional(),
    metadata: field.object.optional(),
    joinMode: field.text.optional(),
    joinStatus: field.text.optional(),
    onStateChange: field.object.optional(),
    rateLimited: field.flag.optional(),
    sink: field.text.optional(),
    startWorkflow: any,
  };
};

const operatorShape = (door: Dialect) => {
  const field = fieldsOf(door);
  const text = field.text.optional();
  const refs = z.array(field.text).max(NODES_MAX).optional();
  return {
    evaluatorType: text,
    expression: text,
    caseValueParam: text,
    caseExpression: text,
    dynamicForkTasksParam: text,
    dynamicForkTasksInputParamName: text,
    dynamicForkJoinTasksParam: text,
    joinOn: refs,
    defaultExclusiveJoinTask: refs,
    loopCondition: text,
    items: field.any.optional(),
    keepLastN: field.integer(1, INT32_MAX).optional(),
    dynamicTaskNameParam: text,
    scriptExpression: text,
    subWorkflowParam: field.object.optional(),
    decisionCases: field.object.optional(),
    defaultCase: field.list.optional(),
    forkTasks: field.list.optional(),
    loopOver: field.list.optional(),
  };
};

/** Conductor takes any; there it has an effect when both are given. */
const cacheShape = (door: Dialect): z.ZodType<{ key?: string | undefined; ttlInSecond?: number | undefined }> => {
  const field = fieldsOf(door);
  return door === 'v1'
    ? z.strictObject({
        key: field.text.refine((text) => text.trim() !== '', 'a key must not be empty'),
        ttlInSecond: field.integer(1, INT32_MAX),
      })
    : z.object({ key: field.text.optional(), ttlInSecond: field.integer(0, INT32_MAX).optional() });
};

const SCHEMA = documentSchema(
  (door) => {
    const field = fieldsOf(door);
    return {
      ...storedShape(door),
      ...operatorShape(door),
      ...retryShape(door),
      name: field.text,
      taskReferenceName: field.text,
      type: field.text.optional(),
      description: field.text.optional(),
      inputParameters: field.object.optional(),
      optional: field.flag.optional(),
      permissive: field.flag.optional(),
      startDelay: field.seconds.optional(),
      domain: field.text.optional(),
      cacheConfig: cacheShape(door).optional(),
      taskDefinition: field.object.optional(),
      compensateWith: z.union([z.string(), field.object]).optional(),
    };
  },
  Object.keys(storedShape('v1')),
);

type NodeDocument = z.output<(typeof SCHEMA)['doors']['v1']>;

/** What reading a tree of nodes carries along: the door, the problems so far, and how many nodes were seen. */
export type TreeContext = { readonly door: Dialect; readonly problems: DefinitionProblem[]; nodeCount: number };

type Place = Readonly<{ path: string; depth: number }>;

const report = (context: TreeContext, code: DefinitionProblemCode, message: string, path: string): void => {
  context.problems.push({ code, message, path });
};

/** Reads a list of nodes. Bounded: beyond the limits of nodes and nesting it reports LIMIT_EXCEEDED and reads no further. */
export const readNodes = (
  documents: readonly JsonValue[],
  place: Place,
  context: TreeContext,
): readonly TaskNodeDefinition[] => {
  if (place.depth > NESTING_MAX) {
    report(context, 'LIMIT_EXCEEDED', `steps are nested more than ${NESTING_MAX} levels deep`, place.path);
    return [];
  }
  const nodes: TaskNodeDefinition[] = [];
  for (const [index, document] of documents.entries()) {
    if (context.nodeCount > NODES_MAX || context.problems.length >= PROBLEMS_MAX) break;
    const node = readCounted(document, { path: childPath(place.path, index), depth: place.depth }, context);
    if (node !== undefined) nodes.push(node);
  }
  return nodes;
};

/** One node, unless it is one too many. */
const readCounted = (document: JsonValue, place: Place, context: TreeContext): TaskNodeDefinition | undefined => {
  context.nodeCount += 1;
  if (context.nodeCount === NODES_MAX + 1) {
    report(context, 'LIMIT_EXCEEDED', `a definition has at most ${NODES_MAX} steps`, place.path);
  }
  return context.nodeCount > NODES_MAX ? undefined : readNode(document, place, context);
};

const readNode = (document: JsonValue, place: Place, context: TreeContext): TaskNodeDefinition | undefined => {
  const read = readDocument(document, place.path, SCHEMA, context);
  if (read === undefined) return undefined;
  const { fields } = read;
  const type = typeOf(fields, place.path, context);
  checkNames(fields, place.path, context);
  const kept = checkChildFields(fields, type, place.path, context);
  return withoutUndefined({
    ...plainFields(fields, type),
    overrides: retryOverridesOf(fields, place.path, context),
    taskDefinition: inlineTaskDefinition(fields, place.path, context),
    compensateWith: compensateWithOf(fields, place, context),
    ...childrenOf(fields, type, place, context),
    extra: { ...read.extra, ...kept },
  });
};

const typeOf = (fields: NodeDocument, path: string, context: TreeContext): string => {
  const type = fields.type ?? 'SIMPLE';
  if (context.door === 'v1' ? isTaskType(type) : type.trim() !== '' && type.length <= NAME_CHARS_MAX) return type;
  const known = `known types are ${TASK_TYPES.join(', ')}`;
  report(context, 'UNKNOWN_TASK_TYPE', `this task type is not known; ${known}`, childPath(path, 'type'));
  return 'SIMPLE';
};

/** One domain, or several in the order in which they are asked for. */
const domainsOf = ({ domain }: NodeDocument): readonly string[] =>
  domain === undefined ? [] : domain.split(',').map((name) => name.trim());

const checkNames = (fields: NodeDocument, path: string, context: TreeContext): void => {
  const problems = [
    nameProblem(fields.name, childPath(path, 'name'), context.door),
    referenceProblem(fields.taskReferenceName, childPath(path, 'taskReferenceName'), context.door),
    ...domainsOf(fields).map((domain) => nameProblem(domain, childPath(path, 'domain'), context.door)),
  ];
  context.problems.push(...problems.filter((problem) => problem !== undefined));
};

/** Nodes in a field that their type never reads would silently not run: /v1 refuses them, Conductor only stores them. */
const checkChildFields = (fields: NodeDocument, type: string, path: string, context: TreeContext): JsonObject => {
  const idle = CHILD_FIELD_NAMES.filter((field) => !holdsChildren(type, field) && !isEmptyChild(fields[field]));
  if (context.door === 'v1') {
    for (const field of idle) {
      report(context, 'VALIDATION_FAILED', `"${field}" has no meaning for a ${type}`, childPath(path, field));
    }
  }
  return Object.fromEntries(idle.map((field) => [field, fields[field] ?? null]));
};

/** Types that read what they do from their input; written beside the input it means the same. */
const INPUT_FIELDS: Readonly<Record<string, 'scriptExpression' | 'startWorkflow'>> = {
  LAMBDA: 'scriptExpression',
  START_WORKFLOW: 'startWorkflow',
};

const inputOf = (fields: NodeDocument, type: string): JsonObject => {
  const input = fields.inputParameters ?? {};
  const field = Object.hasOwn(INPUT_FIELDS, type) ? INPUT_FIELDS[type] : undefined;
  const given = field === undefined ? undefined : fields[field];
  return field === undefined || given === undefined || Object.hasOwn(input, field)
    ? input
    : { ...input, [field]: given };
};

const cacheOf = ({ cacheConfig }: NodeDocument) => {
  const { key, ttlInSecond } = cacheConfig ?? {};
  return key === undefined || key === '' || ttlInSecond === undefined || ttlInSecond === 0
    ? undefined
    : { key, ttlInSecond };
};

const plainFields = (fields: NodeDocument, type: string) => ({
  name: fields.name,
  taskReferenceName: fields.taskReferenceName,
  type,
  inputParameters: inputOf(fields, type),
  optional: fields.optional ?? false,
  permissive: fields.permissive ?? false,
  startDelaySeconds: fields.startDelay ?? 0,
  domain: fields.domain,
  cacheConfig: cacheOf(fields),
  description: fields.description,
  evaluatorType: fields.evaluatorType,
  expression: fields.expression,
  caseValueParam: fields.caseValueParam,
  caseExpression: fields.caseExpression,
  dynamicForkTasksParam: fields.dynamicForkTasksParam,
  dynamicForkTasksInputParamName: fields.dynamicForkTasksInputParamName,
  dynamicForkJoinTasksParam: fields.dynamicForkJoinTasksParam,
  joinOn: fields.joinOn,
  defaultExclusiveJoinTask: fields.defaultExclusiveJoinTask,
  loopCondition: fields.loopCondition,
  items: fields.items,
  keepLastN: fields.keepLastN,
  dynamicTaskNameParam: fields.dynamicTaskNameParam,
  scriptExpression: fields.scriptExpression,
  subWorkflowParam: fields.subWorkflowParam,
});

const inlineTaskDefinition = (fields: NodeDocument, path: string, context: TreeContext) =>
  fields.taskDefinition === undefined
    ? undefined
    : readTaskDefinition(fields.taskDefinition, childPath(path, 'taskDefinition'), context, { nodeName: fields.name });

const compensateWithOf = ({ compensateWith }: NodeDocument, place: Place, context: TreeContext) => {
  const path = childPath(place.path, 'compensateWith');
  if (typeof compensateWith !== 'string') {
    return compensateWith && readCounted(compensateWith, { path, depth: place.depth + 1 }, context);
  }
  const problem = nameProblem(compensateWith, path, context.door);
  if (problem !== undefined) context.problems.push(problem);
  return compensateWith;
};

const childrenOf = (fields: NodeDocument, type: string, place: Place, context: TreeContext) => {
  const list = (value: JsonValue | undefined, path: string): readonly TaskNodeDefinition[] => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return readNodes(value, { path, depth: place.depth + 1 }, context);
    report(context, 'VALIDATION_FAILED', 'a list of steps is expected here', path);
    return [];
  };
  const at = (field: ChildField) => childPath(place.path, field);
  switch (type) {
    case 'SWITCH':
    case 'DECISION':
      return {
        decisionCases: Object.fromEntries(
          Object.entries(fields.decisionCases ?? {}).map(([label, value]) => [
            label,
            list(value, childPath(at('decisionCases'), label)),
          ]),
        ),
        defaultCase: list(fields.defaultCase, at('defaultCase')),
      };
    case 'FORK_JOIN':
      return {
        forkTasks: (fields.forkTasks ?? []).map((branch, index) => list(branch, childPath(at('forkTasks'), index))),
      };
    case 'DO_WHILE':
      return { loopOver: list(fields.loopOver, at('loopOver')) };
    default:
      return {};
  }
};

/**
 * Reads one node as the registration does, its children included. For nodes that only data names, at run time.
 * Problems: those of `parseWorkflowDefinition`, with paths that begin with `path`.
 */
export const parseTaskNode = (
  document: JsonValue,
  door: Dialect,
  path: string,
): Result<TaskNodeDefinition, readonly DefinitionProblem[]> => {
  const context: TreeContext = { door, problems: [], nodeCount: 1 };
  if (!isJsonObject(document)) {
    return err([{ code: 'VALIDATION_FAILED', message: 'a step is an object', path }]);
  }
  const node = readNode(document, { path, depth: 1 }, context);
  return node === undefined || context.problems.length > 0 ? err(context.problems.slice(0, PROBLEMS_MAX)) : ok(node);
};
