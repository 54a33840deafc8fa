import type { TaskPolicy } from '../definition/task-definition.ts';
import type { DeferredReference } from '../expression/evaluate.ts';
import { evaluateJsonPath } from '../expression/json-path.ts';
import { parseJsonPath } from '../expression/json-path-parser.ts';
import { taskIdOf } from '../kernel/brand.ts';
import { canonicalJson } from '../kernel/canonical-json.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { parseDuration } from '../kernel/time.ts';
import { type EnterContext, resolvedInput, type Step, type TaskSemantics } from './task-semantics.ts';

/** Where callbacks arrive; what follows is the token. */
export const CALLBACK_PATH = '/v1/hooks/';

/** Secrets that are valid at a time: the one in use and the one that replaces it. */
export const CALLBACK_SECRETS_MAX = 2;

/** Conditions that one task may put on a payload. */
export const MATCHES_MAX = 50;

const refuse = (input: JsonValue, reason: string): Step => ({ kind: 'refuse', input, reason });

const isGiven = (value: JsonValue | undefined): value is JsonValue => value !== undefined && value !== null;

const isSecret = (value: JsonValue): value is string => typeof value === 'string' && value !== '';

/** The secrets that a callback may be signed with; none: it need not be. Undefined: what is given is no secret. */
export const callbackSecrets = (input: JsonValue): readonly string[] | undefined => {
  const given = isJsonObject(input) ? input.secret : undefined;
  if (!isGiven(given)) return [];
  const secrets = Array.isArray(given) ? given : [given];
  const isValid = secrets.length > 0 && secrets.length <= CALLBACK_SECRETS_MAX && secrets.every(isSecret);
  return isValid ? (secrets as readonly string[]) : undefined;
};

const matchesProblem = (matches: JsonValue): string | undefined => {
  if (!isJsonObject(matches) || Object.keys(matches).length === 0) {
    return 'WAIT_FOR_WEBHOOK takes matches as an object of JSONPath to value.';
  }
  const paths = Object.keys(matches);
  if (paths.length > MATCHES_MAX) return `WAIT_FOR_WEBHOOK takes at most ${MATCHES_MAX} matches.`;
  const wrong = paths.find((path) => !parseJsonPath(path).ok);
  return wrong === undefined ? undefined : `WAIT_FOR_WEBHOOK cannot read the path ${JSON.stringify(wrong)}.`;
};

/** Whether a payload has each value at its path, as the open task asks. */
export const matchesPayload = (input: JsonValue, payload: JsonValue): boolean => {
  const matches = isJsonObject(input) ? input.matches : undefined;
  if (!isJsonObject(matches)) return false;
  return Object.entries(matches).every(([path, wanted]) => {
    const parsed = parseJsonPath(path);
    const found = parsed.ok ? evaluateJsonPath(parsed.value, payload) : parsed;
    return found.ok && canonicalJson(found.value) === canonicalJson(wanted);
  });
};

/** The name of the webhook that alone may end the task; undefined: any of the namespace. */
export const webhookOf = (input: JsonValue): string | undefined =>
  isJsonObject(input) && typeof input.webhook === 'string' && input.webhook !== '' ? input.webhook : undefined;

/** An expired callback ends its task, so that no policy leaves the door open behind it. */
const expiring = (policy: TaskPolicy, expiresInMs: number): TaskPolicy => ({
  ...policy,
  scheduleToCloseMs: policy.scheduleToCloseMs === 0 ? expiresInMs : Math.min(policy.scheduleToCloseMs, expiresInMs),
  timeoutPolicy: policy.timeoutPolicy === 'ALERT_ONLY' ? 'RETRY' : policy.timeoutPolicy,
});

const forCallback = (context: EnterContext<'WAIT_FOR_WEBHOOK'>, input: JsonObject): Step => {
  const { node, state, environment } = context;
  if (callbackSecrets(input) === undefined) {
    const reason = `WAIT_FOR_WEBHOOK takes a secret that is not empty, or at most ${CALLBACK_SECRETS_MAX} of them.`;
    return refuse(input, reason);
  }
  // The fact that schedules the task is the next one, and its seq is the task's id.
  const token = environment.callbackToken(taskIdOf(state.executionId, state.seq + 1));
  const dispatch = {
    kind: 'dispatch',
    input: { ...input, callbackPath: `${CALLBACK_PATH}${token}` },
    taskName: node.name,
  } as const;
  const { expiresIn } = input;
  if (!isGiven(expiresIn)) return dispatch;
  const readable = typeof expiresIn === 'string' || typeof expiresIn === 'number';
  const duration = readable ? parseDuration(expiresIn) : undefined;
  if (duration?.ok !== true || duration.value === 0) {
    return refuse(input, `WAIT_FOR_WEBHOOK cannot read expiresIn ${JSON.stringify(expiresIn).slice(0, 200)}.`);
  }
  return { ...dispatch, policy: expiring(node.policy, duration.value) };
};

/** What signs the callbacks may be a secret: it is looked up when one comes. */
const withDeferred = (step: Step, deferred: readonly DeferredReference[]): Step =>
  step.kind === 'dispatch' ? { ...step, deferred } : step;

/**
 * Ends by a call from outside: one to its own path, which nobody can guess and which works once, or, where it says what it
 * `matches`, by a payload that came in at a webhook of the namespace.
 */
export const waitForWebhook: TaskSemantics<'WAIT_FOR_WEBHOOK'> = {
  family: 'waiting',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const { input } = resolved;
    if (!isGiven(input.matches)) return withDeferred(forCallback(context, input), resolved.deferred);
    const problem = matchesProblem(input.matches);
    return problem === undefined ? { kind: 'dispatch', input, taskName: context.node.name } : refuse(input, problem);
  },
};
