import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { parseDuration, parseUntil } from '../kernel/time.ts';
import { childPath } from '../kernel/value-path.ts';
import { type CheckContext, inputPath, isLiteral, problem } from './check-context.ts';
import { CHILD_FIELD_NAMES, readChildFields } from './child-fields.ts';
import { isBlank } from './compilation.ts';
import { KNOWN_EVALUATORS } from './compile-chooser.ts';
import { listenerProblems } from './compile-listeners.ts';
import { loopItemsOf } from './compile-loop.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import { type NodePlace, nodePlaces } from './node-children.ts';
import { expressionProblem } from './templates.ts';

type Check = (place: NodePlace, context: CheckContext) => readonly DefinitionProblem[];

const NONE: readonly DefinitionProblem[] = [];

const invalid = (message: string, path: string): readonly DefinitionProblem[] => [
  problem('VALIDATION_FAILED', message, path),
];

const isMissing = (value: JsonValue | undefined): boolean => value === undefined || value === null || value === '';

const requiredInput = (place: NodePlace, name: string): readonly DefinitionProblem[] =>
  isMissing(place.node.inputParameters[name])
    ? invalid(`a ${place.node.type} needs the input "${name}"`, inputPath(place, name))
    : NONE;

/** On /v1 an operator that reads an input by name must be given it, or it could only ever read null. */
const namedInput = (place: NodePlace, field: string, name: string | undefined, context: CheckContext) => {
  if (context.workflow.dialect === 'conductor' || isBlank(name)) return NONE;
  if (Object.hasOwn(place.node.inputParameters, name)) return NONE;
  const message = `"${name}" is not among the inputParameters, so it could only be literal text`;
  return [expressionProblem(message, childPath(place.path, field))];
};

/** Conductor stores any, and the step that has it fails when it is reached. */
const evaluatorProblems: Check = ({ node, path }, context) =>
  context.workflow.dialect === 'conductor' ||
  node.evaluatorType === undefined ||
  KNOWN_EVALUATORS.includes(node.evaluatorType)
    ? NONE
    : invalid(`an evaluatorType is one of ${KNOWN_EVALUATORS.join(', ')}`, childPath(path, 'evaluatorType'));

const JOIN_MODES: readonly JsonValue[] = ['SYNC', 'ASYNC'];

/** Both mean the same here: a join is looked at whenever a branch ends, and never polled. */
const checkJoin: Check = ({ node, path }, context) =>
  context.workflow.dialect === 'conductor' ||
  node.extra.joinMode === undefined ||
  JOIN_MODES.includes(node.extra.joinMode)
    ? NONE
    : invalid(`a joinMode is one of ${JOIN_MODES.join(', ')}`, childPath(path, 'joinMode'));

const checkSwitch: Check = (place, context) => {
  const { evaluatorType = 'value-param', expression } = place.node;
  const readsInput = evaluatorType === 'value-param' && expression !== undefined && isLiteral(expression);
  return [
    ...casesProblems(place),
    ...evaluatorProblems(place, context),
    ...(readsInput ? namedInput(place, 'expression', expression.trim(), context) : NONE),
  ];
};

const casesProblems = ({ node, path }: NodePlace): readonly DefinitionProblem[] =>
  Object.keys(node.decisionCases ?? {}).length === 0
    ? invalid(`a ${node.type} needs at least one case`, childPath(path, 'decisionCases'))
    : NONE;

const checkDecision: Check = (place, context) => [
  ...casesProblems(place),
  ...(isBlank(place.node.caseExpression)
    ? namedInput(place, 'caseValueParam', place.node.caseValueParam, context)
    : NONE),
];

const checkLoop: Check = (place, context) => {
  const { evaluatorType, loopCondition } = place.node;
  const items = loopItemsOf(place.node, place.path);
  const isList = items === undefined || Array.isArray(items.value) || !isLiteral(items.value);
  return [
    ...(isList ? NONE : [expressionProblem('items is a list, or an expression that gives one', items.path)]),
    ...(evaluatorType === 'value-param' && isLiteral(loopCondition)
      ? namedInput(place, 'loopCondition', loopCondition?.trim(), context)
      : NONE),
    ...evaluatorProblems(place, context),
    ...spinProblems(place, context),
  ];
};

/** Operators that take no time and end nothing: a loop of only these under `true` never gives the thread back. */
const INSTANT_TYPES: ReadonlySet<string> = new Set([
  'SWITCH',
  'DECISION',
  'FORK_JOIN',
  'JOIN',
  'EXCLUSIVE_JOIN',
  'DO_WHILE',
  'SET_VARIABLE',
  'NOOP',
  'EVENT',
  'KAFKA_PUBLISH',
]);

/** A message takes no time unless its answer is waited for. */
const isInstant = ({ type, extra }: NodePlace['node']): boolean =>
  INSTANT_TYPES.has(type) && extra.asyncComplete !== true;

const spinProblems: Check = (place, context) => {
  if (context.workflow.dialect === 'conductor' || place.node.loopCondition?.trim() !== 'true') return NONE;
  const body = nodePlaces(place.node.loopOver ?? []);
  if (body.some(({ node, isCompensation }) => !isCompensation && !isInstant(node))) return NONE;
  const message = 'this loop would never end and never wait: nothing in it takes time or ends the run';
  return [problem('INVALID_GRAPH', message, childPath(place.path, 'loopCondition'))];
};

const checkDynamic: Check = (place, context) =>
  namedInput(place, 'dynamicTaskNameParam', place.node.dynamicTaskNameParam, context);

const checkDynamicFork: Check = (place, context) => {
  const { dynamicForkJoinTasksParam: legacy, dynamicForkTasksParam: tasks, inputParameters } = place.node;
  const inputs = place.node.dynamicForkTasksInputParamName;
  if (!isMissing(inputParameters.forkTaskInputs)) return sameTaskProblems(place);
  if (!isBlank(legacy) && (!isBlank(tasks) || !isBlank(inputs))) {
    const message = 'dynamicForkJoinTasksParam excludes dynamicForkTasksParam and dynamicForkTasksInputParamName';
    return invalid(message, childPath(place.path, 'dynamicForkJoinTasksParam'));
  }
  if (isBlank(legacy) && isBlank(tasks)) {
    const message =
      'a FORK_JOIN_DYNAMIC needs dynamicForkTasksParam, dynamicForkJoinTasksParam or the input forkTaskInputs';
    return invalid(message, childPath(place.path, 'dynamicForkTasksParam'));
  }
  if (isBlank(legacy) && isBlank(inputs) && context.workflow.dialect === 'conductor') {
    const message = 'dynamicForkTasksParam goes with dynamicForkTasksInputParamName';
    return invalid(message, childPath(place.path, 'dynamicForkTasksInputParamName'));
  }
  return [
    ...namedInput(place, 'dynamicForkJoinTasksParam', legacy, context),
    ...namedInput(place, 'dynamicForkTasksParam', tasks, context),
    ...namedInput(place, 'dynamicForkTasksInputParamName', inputs, context),
  ];
};

/** The same task for each input needs to know which task. */
const sameTaskProblems = (place: NodePlace): readonly DefinitionProblem[] => {
  const names = ['forkTaskName', 'forkTaskType', 'forkTaskWorkflow'];
  return names.some((name) => !isMissing(place.node.inputParameters[name]))
    ? NONE
    : invalid(`forkTaskInputs goes with one of ${names.join(', ')}`, inputPath(place, 'forkTaskName'));
};

const TERMINATION_STATUSES: readonly JsonValue[] = ['COMPLETED', 'FAILED', 'TERMINATED'];

const checkTerminate: Check = (place) => {
  const status = place.node.inputParameters.terminationStatus;
  const isKnown = TERMINATION_STATUSES.includes(status ?? null) || (status !== undefined && !isLiteral(status));
  return [
    ...(place.node.optional ? invalid('a TERMINATE cannot be optional', childPath(place.path, 'optional')) : NONE),
    ...(isKnown
      ? NONE
      : invalid(
          `terminationStatus is one of ${TERMINATION_STATUSES.join(', ')}`,
          inputPath(place, 'terminationStatus'),
        )),
  ];
};

const durationProblems = (place: NodePlace, duration: JsonValue): readonly DefinitionProblem[] => {
  const path = inputPath(place, 'duration');
  if (typeof duration !== 'string' && typeof duration !== 'number')
    return invalid('a duration is a text or a number of seconds', path);
  const parsed = parseDuration(duration);
  return parsed.ok ? NONE : invalid(parsed.error.message, path);
};

const untilProblems = (place: NodePlace, until: JsonValue): readonly DefinitionProblem[] => {
  const path = inputPath(place, 'until');
  if (typeof until !== 'string') return invalid('until is a text', path);
  const parsed = parseUntil(until);
  return parsed.ok ? NONE : invalid(parsed.error.message, path);
};

const checkWait: Check = (place) => {
  const { duration = null, until = null } = place.node.inputParameters;
  if (!isMissing(duration) && !isMissing(until)) {
    return invalid('a WAIT has a duration or an until, not both', inputPath(place, 'until'));
  }
  if (!isMissing(duration) && isLiteral(duration)) return durationProblems(place, duration);
  return !isMissing(until) && isLiteral(until) ? untilProblems(place, until) : NONE;
};

const extraOf = (place: NodePlace, name: string): JsonValue | undefined => place.node.extra[name];

const checkSubWorkflow: Check = (place, context) => {
  const given = place.node.subWorkflowParam;
  const path = childPath(place.path, 'subWorkflowParam');
  if (given === undefined) return invalid('a SUB_WORKFLOW needs a subWorkflowParam', path);
  const unknown = unknownChildFields(given, ['workflowDefinition'], path, context);
  if (!isMissing(given.name) || !isMissing(given.workflowDefinition))
    return [...unknown, ...childFieldProblems(given, path)];
  return invalid('a subWorkflowParam needs the name of a workflow, or a workflowDefinition', childPath(path, 'name'));
};

const checkStartWorkflow: Check = (place, context) => {
  const given = place.node.inputParameters.startWorkflow ?? null;
  const path = inputPath(place, 'startWorkflow');
  if (!isLiteral(given)) return NONE;
  if (!isJsonObject(given)) return invalid('a START_WORKFLOW needs the input "startWorkflow"', path);
  const unknown = unknownChildFields(given, ['workflowDef', 'input'], path, context);
  if (!isMissing(given.name) || !isMissing(given.workflowDef)) return [...unknown, ...childFieldProblems(given, path)];
  return invalid('a startWorkflow needs the name of a workflow, or a workflowDef', childPath(path, 'name'));
};

/** Conductor ignores them, as it does any field. */
const unknownChildFields = (
  given: JsonObject,
  beside: readonly string[],
  path: string,
  context: CheckContext,
): readonly DefinitionProblem[] =>
  context.workflow.dialect === 'conductor'
    ? NONE
    : Object.keys(given)
        .filter((field) => !CHILD_FIELD_NAMES.includes(field) && !beside.includes(field))
        .map((field) => problem('UNKNOWN_FIELD', 'no such field is known here', childPath(path, field)));

/** What is written out must be usable; what an expression gives is judged when it is there. */
const childFieldProblems = (given: JsonObject, path: string): readonly DefinitionProblem[] => {
  const literals = Object.fromEntries(Object.entries(given).filter(([, value]) => isLiteral(value)));
  const child = readChildFields(literals);
  return child.ok ? NONE : invalid(child.error.message, childPath(path, child.error.field));
};

const checkEvent: Check = (place) =>
  isMissing(extraOf(place, 'sink')) ? invalid('an EVENT needs a sink', childPath(place.path, 'sink')) : NONE;

/** The request of an HTTP task may stand in its task definition. */
const checkHttp: Check = (place, context) => {
  const { inputParameters, name, taskDefinition } = place.node;
  const registered = Object.hasOwn(context.taskDefinitions, name) ? context.taskDefinitions[name] : undefined;
  const template = (taskDefinition ?? registered)?.inputTemplate ?? {};
  const names = ['http_request', 'uri', 'url', 'method'];
  return names.some((key) => !isMissing(inputParameters[key]) || !isMissing(template[key]))
    ? NONE
    : invalid(`a call needs the input "http_request", or "uri" and "method"`, inputPath(place, 'http_request'));
};

/** Where a database is, and who may use it, is the operator's to say: a definition names it. */
const CONNECTION_INPUTS = ['connectionString', 'jdbcUrl', 'url', 'host', 'user', 'username', 'password', 'driver'];

/** A statement that data could change would be one that data could write. */
const checkJdbc: Check = (place, context) => {
  const isStrict = context.workflow.dialect === 'v1';
  const { datasource, connectionId, statement } = place.node.inputParameters;
  const isNamed = !isMissing(datasource) || !isMissing(connectionId);
  return [
    ...(isNamed || !isStrict ? NONE : invalid('a JDBC needs the input "datasource"', inputPath(place, 'datasource'))),
    ...(isStrict ? requiredInput(place, 'statement') : NONE),
    ...(isMissing(statement) || (typeof statement === 'string' && isLiteral(statement))
      ? NONE
      : invalid('a statement is a text without expressions: values are its parameters', inputPath(place, 'statement'))),
    ...CONNECTION_INPUTS.filter((name) => !isMissing(place.node.inputParameters[name])).flatMap((name) =>
      invalid('a definition names its datasource, and brings no connection of its own', inputPath(place, name)),
    ),
  ];
};

const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['SWITCH', checkSwitch],
  ['DECISION', checkDecision],
  ['DO_WHILE', checkLoop],
  ['JOIN', checkJoin],
  ['DYNAMIC', checkDynamic],
  ['FORK_JOIN_DYNAMIC', checkDynamicFork],
  ['TERMINATE', checkTerminate],
  ['WAIT', checkWait],
  ['INLINE', (place) => requiredInput(place, 'expression')],
  ['LAMBDA', (place) => requiredInput(place, 'scriptExpression')],
  ['JSON_JQ_TRANSFORM', (place) => requiredInput(place, 'queryExpression')],
  ['KAFKA_PUBLISH', (place) => requiredInput(place, 'kafka_request')],
  ['SUB_WORKFLOW', checkSubWorkflow],
  ['START_WORKFLOW', checkStartWorkflow],
  ['EVENT', checkEvent],
  ['HTTP', checkHttp],
  ['HTTP_POLL', checkHttp],
  ['JDBC', checkJdbc],
]);

/** What each type needs to be told. Problems: VALIDATION_FAILED, EXPRESSION_INVALID, INVALID_GRAPH. */
export const checkParameters = (context: CheckContext): readonly DefinitionProblem[] => [
  ...listenerProblems(context.workflow.extra.onStateChange, 'onStateChange'),
  ...context.places.flatMap((place) => [
    ...(CHECKS.get(place.node.type)?.(place, context) ?? NONE),
    ...listenerProblems(extraOf(place, 'onStateChange'), childPath(place.path, 'onStateChange')),
  ]),
];
