import type { Dialect } from '../definition/workflow-definition.ts';
import { isGrammarCondition } from '../expression/condition.ts';
import { parseCondition } from '../expression/condition-parser.ts';
import { compileTemplate } from '../expression/parse-template.ts';
import type { JsonObject } from '../kernel/json.ts';

export const EVENT_ACTION_TYPES = [
  'START_WORKFLOW',
  'COMPLETE_TASK',
  'FAIL_TASK',
  'TERMINATE_WORKFLOW',
  'UPDATE_VARIABLES',
  'SIGNAL',
] as const;
export type EventActionType = (typeof EVENT_ACTION_TYPES)[number];

/** `value-param` names a value of the message; the scripts are two names for one engine. */
export const EVENT_EVALUATORS = ['javascript', 'graaljs', 'value-param'] as const;
export type EventEvaluator = (typeof EVENT_EVALUATORS)[number];

/** Actions of one handler. */
export const EVENT_ACTIONS_MAX = 20;
/** It is a part of keys of the store, which take 2,700 bytes. */
export const EVENT_NAME_CHARS_MAX = 400;
export const EVENT_CONDITION_CHARS_MAX = 10_000;
/** How many starts by events may stand one upon the other: a loop between events and workflows ends here. */
export const EVENT_DEPTH_MAX = 50;

export type EventAction = Readonly<{
  type: EventActionType;
  /** A template over the message. */
  input: JsonObject;
  /** Texts of the message that are JSON are read first. */
  expandInlineJson: boolean;
}>;

/** What a user registers: what is done about the messages of one event. */
export type EventHandler = Readonly<{
  name: string;
  event: string;
  description?: string;
  active: boolean;
  /** Absent: every message. */
  condition?: string;
  evaluator?: EventEvaluator;
  /** A template; of messages for which it gives the same text, the first alone is acted upon. */
  dedupeId?: string;
  actions: readonly EventAction[];
  dialect: Dialect;
}>;

export type EventHandlerProblem = Readonly<{
  code: 'VALIDATION_FAILED' | 'UNKNOWN_FIELD' | 'EXPRESSION_INVALID';
  message: string;
  path: string;
}>;

/** How a condition is read: by the evaluator that is named, else by its form. */
export const conditionKind = ({ condition = '', evaluator }: EventHandler): 'none' | 'grammar' | 'script' | 'value' => {
  if (condition.trim() === '') return 'none';
  if (evaluator === 'value-param') return 'value';
  return evaluator === undefined && isGrammarCondition(condition) ? 'grammar' : 'script';
};

const SCHEME = /^[A-Za-z][A-Za-z0-9_.-]*:\S.*$/;

const invalid = (path: string, message: string): EventHandlerProblem => ({ code: 'VALIDATION_FAILED', path, message });

/** Why nothing can be heard of an event of that name. */
export const eventProblem = (event: string): EventHandlerProblem | undefined => {
  if (event.length === 0 || event.length > EVENT_NAME_CHARS_MAX) {
    return invalid('event', `The name of an event has 1 to ${EVENT_NAME_CHARS_MAX} characters.`);
  }
  if (SCHEME.test(event)) return undefined;
  return invalid('event', 'The name of an event says where it is from, and which it is: internal:paid.');
};

/** What could never work: the first problem, or none. */
export const eventHandlerProblem = (
  handler: EventHandler,
  scriptProblem: (source: string) => string | undefined,
): EventHandlerProblem | undefined => {
  const named = eventProblem(handler.event);
  if (named !== undefined) return named;
  if (handler.actions.length === 0 || handler.actions.length > EVENT_ACTIONS_MAX) {
    return invalid('actions', `A handler has 1 to ${EVENT_ACTIONS_MAX} actions.`);
  }
  for (const [index, action] of handler.actions.entries()) {
    const problem = fieldsProblem(action, `actions[${index}].input`);
    if (problem !== undefined) return problem;
  }
  const condition = conditionProblem(handler, scriptProblem);
  if (condition !== undefined) return { code: 'EXPRESSION_INVALID', path: 'condition', message: condition };
  const templates = [
    { value: handler.dedupeId ?? null, path: 'dedupeId' },
    ...handler.actions.map(({ input }, index) => ({ value: input, path: `actions[${index}].input` })),
  ];
  for (const { value, path } of templates) {
    const compiled = compileTemplate(value, path);
    const first = compiled.ok ? undefined : compiled.error[0];
    if (first !== undefined) return { code: 'EXPRESSION_INVALID', path: first.path, message: first.message };
  }
  return undefined;
};

/** What an action may be given, and what it cannot do without. */
const FIELDS: Readonly<Record<EventActionType, Readonly<{ known: readonly string[]; needed: readonly string[] }>>> = {
  START_WORKFLOW: {
    known: ['name', 'version', 'correlationId', 'input', 'priority', 'taskToDomain'],
    needed: ['name'],
  },
  COMPLETE_TASK: { known: ['workflowId', 'taskRefName', 'taskId', 'output', 'reason'], needed: [] },
  FAIL_TASK: { known: ['workflowId', 'taskRefName', 'taskId', 'output', 'reason'], needed: [] },
  TERMINATE_WORKFLOW: { known: ['workflowId', 'reason'], needed: ['workflowId'] },
  UPDATE_VARIABLES: { known: ['workflowId', 'variables', 'append'], needed: ['workflowId', 'variables'] },
  SIGNAL: { known: ['workflowId', 'taskRefName', 'status', 'output'], needed: ['workflowId'] },
};

const fieldsProblem = ({ type, input }: EventAction, path: string): EventHandlerProblem | undefined => {
  const { known, needed } = FIELDS[type];
  const given = Object.keys(input).filter((field) => input[field] !== null);
  const unknown = given.find((field) => !known.includes(field));
  if (unknown !== undefined) {
    const message = `${type} has no field ${unknown}; it has ${known.join(', ')}.`;
    return { code: 'UNKNOWN_FIELD', path: `${path}.${unknown}`, message };
  }
  const missing = needed.find((field) => !given.includes(field));
  if (missing !== undefined) return invalid(`${path}.${missing}`, `${type} needs ${missing}.`);
  const isOfTask = type === 'COMPLETE_TASK' || type === 'FAIL_TASK';
  const namesTask = given.includes('taskId') || (given.includes('workflowId') && given.includes('taskRefName'));
  return isOfTask && !namesTask
    ? invalid(path, `${type} needs a taskId, or a workflowId and a taskRefName.`)
    : undefined;
};

const conditionProblem = (
  handler: EventHandler,
  scriptProblem: (source: string) => string | undefined,
): string | undefined => {
  const { condition = '' } = handler;
  if (condition.length > EVENT_CONDITION_CHARS_MAX) {
    return `A condition has at most ${EVENT_CONDITION_CHARS_MAX} characters.`;
  }
  switch (conditionKind(handler)) {
    case 'grammar': {
      const parsed = parseCondition(condition);
      return parsed.ok ? undefined : parsed.error.message;
    }
    case 'script':
      return scriptProblem(condition);
    default:
      return undefined;
  }
};
