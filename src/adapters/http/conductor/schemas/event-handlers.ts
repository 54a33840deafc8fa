import { z } from 'zod';
import { withoutUndefined } from '../../../../domain/definition/without-undefined.ts';
import {
  EVENT_ACTION_TYPES,
  EVENT_ACTIONS_MAX,
  EVENT_EVALUATORS,
  type EventAction,
  type EventActionType,
} from '../../../../domain/event-handler/event-handler.ts';
import type { JsonObject, JsonValue } from '../../../../domain/kernel/json.ts';
import * as field from './fields.ts';
import { DOCUMENTS_MAX, tags } from './metadata.ts';

/** Conductor's name of an action, which is also the field that holds it. */
const WIRE_NAMES: Readonly<Record<EventActionType, string>> = {
  START_WORKFLOW: 'start_workflow',
  COMPLETE_TASK: 'complete_task',
  FAIL_TASK: 'fail_task',
  TERMINATE_WORKFLOW: 'terminate_workflow',
  UPDATE_VARIABLES: 'update_workflow_variables',
  SIGNAL: 'signal',
};

type Renamed = readonly (readonly [ours: string, theirs: string])[];
const TASK: Renamed = [
  ['workflowId', 'workflowId'],
  ['taskRefName', 'taskRefName'],
  ['taskId', 'taskId'],
  ['output', 'output'],
  ['reason', 'reasonForIncompletion'],
];

/** Fields of an action in our words and in Conductor's; what else it holds is ignored, as there. */
const FIELDS: Readonly<Record<EventActionType, Renamed>> = {
  START_WORKFLOW: ['name', 'version', 'correlationId', 'input', 'priority', 'taskToDomain'].map((name) => [name, name]),
  COMPLETE_TASK: TASK,
  FAIL_TASK: TASK,
  TERMINATE_WORKFLOW: [
    ['workflowId', 'workflowId'],
    ['reason', 'terminationReason'],
  ],
  UPDATE_VARIABLES: [
    ['workflowId', 'workflowId'],
    ['variables', 'variables'],
    ['append', 'appendArray'],
  ],
  SIGNAL: ['workflowId', 'taskRefName', 'status', 'output'].map((name) => [name, name]),
};

const renamed = (from: JsonObject, pairs: readonly (readonly [to: string, from: string])[]): JsonObject => {
  const entries = pairs.flatMap(([to, name]): readonly (readonly [string, JsonValue])[] => {
    const value = from[name];
    return value === undefined || value === null ? [] : [[to, value]];
  });
  return Object.fromEntries(entries);
};

const details = Object.fromEntries(Object.values(WIRE_NAMES).map((name) => [name, field.maybe(field.object)]));

const typeOf = (name: string): EventActionType | undefined =>
  EVENT_ACTION_TYPES.find((type) => type === name.toUpperCase() || WIRE_NAMES[type] === name.toLowerCase());

const action = z
  .object({ action: field.text, expandInlineJSON: field.otherwise(field.flag, false), ...details })
  .transform((given, context): EventAction => {
    const type = typeOf(given.action);
    if (type === undefined) {
      const known = Object.values(WIRE_NAMES).join(', ');
      context.addIssue({ code: 'custom', path: ['action'], message: `an action is one of ${known}` });
      return z.NEVER;
    }
    const detail = (given as Readonly<Record<string, unknown>>)[WIRE_NAMES[type]] as JsonObject | undefined;
    return { type, input: renamed(detail ?? {}, FIELDS[type]), expandInlineJson: given.expandInlineJSON };
  });

const evaluator = z.string().toLowerCase().pipe(z.enum(EVENT_EVALUATORS));

const handler = z
  .object({
    name: field.text,
    event: field.text,
    description: field.maybe(field.text),
    condition: field.maybe(field.text),
    evaluatorType: field.maybe(evaluator),
    actions: z.array(action).max(EVENT_ACTIONS_MAX),
    active: field.otherwise(field.flag, false),
    tags: field.maybe(tags),
  })
  .transform(({ evaluatorType, tags: given, ...rest }) => ({
    handler: { ...withoutUndefined({ ...rest, evaluator: evaluatorType }), dialect: 'conductor' as const },
    tags: given,
  }));

/** One or several. */
export const eventHandlers = z.preprocess(
  (given) => (Array.isArray(given) ? given : [given]),
  z.array(handler).min(1).max(DOCUMENTS_MAX),
);

/** An action as Conductor writes it. */
export const actionBodyOf = ({ type, input, expandInlineJson }: EventAction): JsonObject => ({
  action: WIRE_NAMES[type],
  [WIRE_NAMES[type]]: renamed(
    input,
    FIELDS[type].map(([ours, theirs]) => [theirs, ours]),
  ),
  expandInlineJSON: expandInlineJson,
});

export const wireNameOf = (type: string): string => {
  const known = EVENT_ACTION_TYPES.find((each) => each === type);
  return known === undefined ? type : WIRE_NAMES[known];
};
