import type { Instant } from '../../domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../../domain/kernel/json.ts';
import { JSON_DEPTH_MAX, measureJson } from '../../domain/kernel/json-depth.ts';
import type { Clock } from '../../ports/clock.ts';
import type { OutboundHttp, OutboundProblem, OutboundResponse } from '../../ports/outbound-http.ts';
import { type CallResult, completed, failed, failedForGood, GIVEN_UP } from './call-result.ts';
import { type HttpCall, httpCallOf } from './http-request.ts';

/** Status codes by which a host says that the same request may go well later. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);

const isRetryable = (statusCode: number): boolean => LATER.has(statusCode) || statusCode >= 500;

/** What another attempt cannot change. */
const FOR_GOOD: ReadonlySet<OutboundProblem['code']> = new Set([
  'INVALID_REQUEST',
  'URL_NOT_ALLOWED',
  'TOO_MANY_REDIRECTS',
  'RESPONSE_TOO_LARGE',
]);

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i;

/** JSON where the host says that it is JSON, and where it says nothing or only "text" and it is; else the text. */
const bodyOf = ({ headers, body }: OutboundResponse): JsonValue => {
  if (body === '') return null;
  const type = headers['content-type']?.[0]?.trim() ?? '';
  const looksLikeJson = /^\s*[{[]/.test(body);
  if (!JSON_TYPE.test(type) && !looksLikeJson) return body;
  try {
    const value = JSON.parse(body) as JsonValue;
    const measured = measureJson(value, { bytesMax: Number.POSITIVE_INFINITY, depthMax: JSON_DEPTH_MAX });
    return measured.ok ? value : body;
  } catch {
    return body;
  }
};

const documentOf = (response: OutboundResponse): JsonObject => {
  const { statusCode, reasonPhrase, headers } = response;
  return { statusCode, reasonPhrase, headers, body: bodyOf(response) };
};

/** Seconds until a host wants to be asked again: a number of them, or a date. */
export const retryAfterSeconds = (value: string | undefined, now: Instant): number | undefined => {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000));
};

export const ofProblem = ({ code, message, retryAfterMs }: OutboundProblem): CallResult => {
  if (code === 'ABORTED') return GIVEN_UP;
  if (FOR_GOOD.has(code)) return failedForGood(`${code}: ${message}`);
  return failed(
    `${code}: ${message}`,
    retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.ceil(retryAfterMs / 1_000) },
  );
};

/** The answer as a task gives it, and what it means for the task. */
export type Answered = Readonly<{ response: JsonObject; statusCode: number; problem?: CallResult }>;

const refusal = (response: OutboundResponse, document: JsonObject, now: Instant): CallResult => {
  const { statusCode, reasonPhrase, headers } = response;
  const reason = `HTTP ${statusCode}${reasonPhrase === '' ? '' : ` ${reasonPhrase}`}`;
  if (!isRetryable(statusCode)) return failedForGood(reason, { response: document });
  const seconds = retryAfterSeconds(headers['retry-after']?.[0], now);
  return failed(reason, { response: document, ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }) });
};

/** Makes the call of a task. A call result: there is no answer to speak of. */
export const callOnce = async (
  http: OutboundHttp,
  clock: Clock,
  call: HttpCall,
  signal: AbortSignal,
): Promise<Answered | CallResult> => {
  const sent = await http.send(call.request, signal);
  if (!sent.ok) return ofProblem(sent.error);
  const response = documentOf(sent.value);
  const { statusCode } = sent.value;
  if (call.isAccepted(statusCode)) return { response, statusCode };
  return { response, statusCode, problem: refusal(sent.value, response, clock.now()) };
};

/** HTTP: one call, and its answer is the output of the task; or, where somebody else will end it, what can be seen meanwhile. */
export const httpTask = async (
  http: OutboundHttp,
  clock: Clock,
  input: JsonObject,
  signal: AbortSignal,
): Promise<CallResult> => {
  const call = httpCallOf(input);
  if (!call.ok) return failedForGood(`INVALID_REQUEST: ${call.error}`);
  const answer = await callOnce(http, clock, call.value, signal);
  if ('kind' in answer) return answer;
  if (answer.problem !== undefined) return answer.problem;
  const output = { response: answer.response };
  return call.value.isAsync ? { kind: 'leftOpen', progress: output } : completed(output);
};
