import { fnv1a32 } from '../../domain/kernel/hash.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { OutboundHttp } from '../../ports/outbound-http.ts';
import type { TaskSandbox } from '../../ports/script-sandbox.ts';
import { type CallResult, completed, failedForGood } from './call-result.ts';
import { httpCallOf } from './http-request.ts';
import { callOnce } from './http-task.ts';

const INTERVAL_SECONDS = 60;
/** The longest that lies between two polls, in seconds: a day. */
export const POLL_INTERVAL_SECONDS_MAX = 86_400;
const CONDITION_TIMEOUT_MS = 4_000;
/** Until the sandbox has room again. */
const BUSY_MS = 1_000;

const STRATEGIES = ['FIXED', 'LINEAR', 'LINEAR_BACKOFF', 'EXPONENTIAL', 'EXPONENTIAL_BACKOFF'] as const;
type Strategy = (typeof STRATEGIES)[number];

export type PollPlan = Readonly<{
  intervalSeconds: number;
  strategy: Strategy;
  /** Absent: the first answer is the last. */
  condition: string | undefined;
  /** Polls at most; absent: as many as the deadlines of the task allow. */
  pollsMax: number | undefined;
}>;

const numberOf = (value: JsonValue | undefined): number | undefined => {
  if (value === undefined || value === null || value === '') return undefined;
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : Number.NaN;
};

/** How a task polls. The error is a sentence for people. */
export const pollPlanOf = (input: JsonObject): Result<PollPlan, string> => {
  const nested = input.http_request;
  const given: JsonObject = isJsonObject(nested) ? { ...input, ...nested } : input;
  const { terminationCondition: condition = null, pollingStrategy } = given;
  const strategy = String(pollingStrategy ?? 'FIXED').toUpperCase() as Strategy;
  if (!STRATEGIES.includes(strategy)) return err(`pollingStrategy is one of ${STRATEGIES.join(', ')}.`);
  const intervalSeconds = numberOf(given.pollingInterval) ?? INTERVAL_SECONDS;
  if (!(intervalSeconds > 0 && intervalSeconds <= POLL_INTERVAL_SECONDS_MAX)) {
    return err(`pollingInterval is a number of seconds up to ${POLL_INTERVAL_SECONDS_MAX}.`);
  }
  const pollsMax = numberOf(given.pollCount);
  if (pollsMax !== undefined && !(Number.isInteger(pollsMax) && pollsMax > 0)) {
    return err('pollCount is a whole number of polls.');
  }
  if (condition !== null && typeof condition !== 'string') return err('terminationCondition is a script.');
  return ok({ intervalSeconds, strategy, pollsMax, condition: condition?.trim() ? condition : undefined });
};

/** Milliseconds after poll number `n`, from 1. */
export const pollDelayMs = ({ intervalSeconds, strategy }: PollPlan, n: number): number => {
  const factor = strategy === 'FIXED' ? 1 : strategy.startsWith('LINEAR') ? n : 2 ** (n - 1);
  return Math.round(Math.min(intervalSeconds * factor, POLL_INTERVAL_SECONDS_MAX) * 1_000);
};

/** Polls that the attempt has made, as its last holder left them. */
export const pollsMade = (progress: JsonValue | undefined): number =>
  progress !== undefined && isJsonObject(progress) && typeof progress.pollCount === 'number' ? progress.pollCount : 0;

export type PollDeps = Readonly<{ http: OutboundHttp; clock: Clock; sandbox: TaskSandbox }>;

/**
 * HTTP_POLL: calls until the condition holds for the answer. Between two polls the attempt is held by nobody: when the next
 * one is due stands in its row, and so do the polls that were made.
 */
export const httpPoll = async (
  { http, clock, sandbox }: PollDeps,
  task: Readonly<{ taskId: string; input: JsonObject; progress: JsonValue | undefined }>,
  signal: AbortSignal,
): Promise<CallResult> => {
  const [call, plan] = [httpCallOf(task.input), pollPlanOf(task.input)];
  if (!call.ok) return failedForGood(`INVALID_REQUEST: ${call.error}`);
  if (!plan.ok) return failedForGood(`INVALID_REQUEST: ${plan.error}`);
  const answer = await callOnce(http, clock, call.value, signal);
  if ('kind' in answer) return answer;
  if (answer.problem !== undefined) return answer.problem;
  const before = pollsMade(task.progress);
  const pollCount = before + 1;
  const output = { response: answer.response, pollCount };
  const { condition, pollsMax } = plan.value;
  if (condition === undefined) return completed(output);
  const judged = await sandbox.runScript({
    source: condition,
    bindings: { input: task.input, output, ...output },
    wrap: 'function',
    nowMs: clock.now(),
    seed: fnv1a32(`${task.taskId}/${pollCount}`),
    timeoutMs: CONDITION_TIMEOUT_MS,
  });
  if (!judged.ok && judged.error.code === 'SANDBOX_UNAVAILABLE') {
    return { kind: 'later', delayMs: BUSY_MS, progress: { pollCount: before } };
  }
  if (!judged.ok) return failedForGood(`terminationCondition: ${judged.error.code}: ${judged.error.message}`, output);
  if (isTrue(judged.value)) return completed(output);
  if (pollsMax !== undefined && pollCount >= pollsMax) {
    return failedForGood(`POLLS_SPENT: The condition did not hold after ${pollCount} polls.`, output);
  }
  const progress = { pollCount, statusCode: answer.statusCode };
  return { kind: 'later', delayMs: pollDelayMs(plan.value, pollCount), progress };
};

/** As JavaScript has it. */
const isTrue = (value: JsonValue): boolean => value !== null && value !== false && value !== 0 && value !== '';
