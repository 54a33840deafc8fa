import type { EvaluateScript } from '../execution/script.ts';
import { evaluateCondition } from '../expression/condition.ts';
import { parseCondition } from '../expression/condition-parser.ts';
import { CONDUCTOR_MODE, evaluateTemplate, V1_MODE } from '../expression/evaluate.ts';
import { compileTemplate } from '../expression/parse-template.ts';
import { scopeOf } from '../expression/scope.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { codeUnitBytes, sha256Hex } from '../kernel/sha256.ts';
import { parseStrictJson } from '../kernel/strict-json.ts';
import { conditionKind, type EventAction, type EventHandler } from './event-handler.ts';
import { type ResolvedAction, readAction } from './resolved-action.ts';

/** A message as a handler sees it. */
export type EventMessageFacts = Readonly<{ event: string; messageId: string; payload: JsonObject }>;

/** What a handler makes of a message. */
export type Judgement = Readonly<{
  /** The condition holds. */
  holds: boolean;
  dedupeId?: string;
  /** Empty where the condition does not hold. */
  actions: readonly ResolvedAction[];
}>;

const EXPANDED_LEVELS_MAX = 20;

/** What the expressions read: the fields of the payload; beside them `payload`, all of it, and `event`, what it is. */
const rootsOf = ({ event, messageId, payload }: EventMessageFacts): JsonObject => ({
  event: { name: event, messageId },
  payload,
  ...payload,
});

/** Judges a message by a handler. The error is a sentence: it would be the same at each try. */
export const judgeMessage = (
  handler: EventHandler,
  message: EventMessageFacts,
  evaluateScript: EvaluateScript,
): Result<Judgement, string> => {
  const holds = conditionHolds(handler, message, evaluateScript);
  if (!holds.ok) return err(`The condition: ${holds.error}`);
  if (!holds.value) return ok({ holds: false, actions: [] });
  const dedupeId = filledIn(handler, handler.dedupeId ?? null, rootsOf(message));
  if (!dedupeId.ok) return err(`The dedupeId: ${dedupeId.error}`);
  const actions: ResolvedAction[] = [];
  for (const action of handler.actions) {
    const resolved = resolvedAction(handler, action, message);
    if (!resolved.ok) return err(`${action.type}: ${resolved.error}`);
    actions.push(resolved.value);
  }
  const key = dedupeKey(textOf(dedupeId.value));
  return ok({ holds: true, actions, ...(key === '' ? {} : { dedupeId: key }) });
};

/** Longer ids are told apart by their hash: they are keys of the store. */
const DEDUPE_CHARS_MAX = 200;
export const dedupeKey = (text: string): string =>
  text.length <= DEDUPE_CHARS_MAX ? text : `sha256:${sha256Hex(codeUnitBytes(text))}`;

const textOf = (value: JsonValue): string => {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const resolvedAction = (
  handler: EventHandler,
  { type, input, expandInlineJson }: EventAction,
  message: EventMessageFacts,
): Result<ResolvedAction, string> => {
  const payload = expandInlineJson ? expanded(message.payload, 0) : message.payload;
  const roots = rootsOf({ ...message, payload: isJsonObject(payload) ? payload : message.payload });
  const filled = filledIn(handler, input, roots);
  if (!filled.ok) return filled;
  return readAction(type, isJsonObject(filled.value) ? filled.value : {});
};

const filledIn = ({ dialect }: EventHandler, value: JsonValue, roots: JsonObject): Result<JsonValue, string> => {
  const compiled = compileTemplate(value, '');
  if (!compiled.ok) return err(compiled.error[0]?.message ?? 'an expression cannot be read');
  const mode = dialect === 'conductor' ? CONDUCTOR_MODE : V1_MODE;
  const evaluated = evaluateTemplate(compiled.value, scopeOf(roots), mode);
  if (!evaluated.ok) return err(evaluated.error.message);
  return evaluated.value.deferred.length === 0 ? ok(evaluated.value.value) : err('no secret can be read here');
};

const conditionHolds = (
  handler: EventHandler,
  message: EventMessageFacts,
  evaluateScript: EvaluateScript,
): Result<boolean, string> => {
  const { condition = '' } = handler;
  switch (conditionKind(handler)) {
    case 'none':
      return ok(true);
    case 'value':
      return ok(isTruthy(message.payload[condition] ?? null));
    case 'grammar': {
      const parsed = parseCondition(condition);
      if (!parsed.ok) return err(parsed.error.message);
      const held = evaluateCondition(parsed.value, scopeOf(rootsOf(message)));
      return held.ok ? held : err(held.error.message);
    }
    case 'script': {
      const result = evaluateScript(condition, message.payload);
      return result.ok ? ok(isTruthy(result.value)) : err(result.error.message);
    }
  }
};

const isTruthy = (value: JsonValue): boolean =>
  value !== null && value !== false && value !== 0 && value !== '' && value !== 'false';

/** Texts that are JSON objects or lists, read; whatever else a text holds stays a text. */
const expanded = (value: JsonValue, level: number): JsonValue => {
  if (level > EXPANDED_LEVELS_MAX) return value;
  if (typeof value === 'string') {
    if (!/^\s*[[{]/.test(value)) return value;
    const parsed = parseStrictJson(value);
    return parsed.ok ? expanded(parsed.value, level + 1) : value;
  }
  if (Array.isArray(value)) return value.map((item: JsonValue) => expanded(item, level + 1));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expanded(item, level + 1)]));
};
