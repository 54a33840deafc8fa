import type { TaskContext, TaskHandler } from './contracts.ts';
import { TerminalError } from './errors.ts';
import type { Lease, LeasedTask } from './worker-api.ts';

const REASON_CHARS_MAX = 2_000;

/** How an attempt ended, its output as JSON text. */
export type Outcome = Readonly<
  { status: 'COMPLETED'; outputJson: string } | { status: 'FAILED' | 'FAILED_WITH_TERMINAL_ERROR'; reason: string }
>;

/** Runs one handler to its end; whatever it does is an outcome, nothing is thrown. */
export const runHandler = async (
  handler: TaskHandler<unknown> | undefined,
  leased: LeasedTask,
  context: TaskContext,
): Promise<Outcome> => {
  if (handler === undefined) {
    return { status: 'FAILED', reason: `worker ${context.workerId} has no handler for task ${leased.taskName}` };
  }
  const { taskId, workflowId, taskRef, taskName, iteration, attempt, input } = leased;
  try {
    return completed(await handler({ taskId, workflowId, taskRef, taskName, iteration, attempt, input }, context));
  } catch (error) {
    const status = error instanceof TerminalError ? 'FAILED_WITH_TERMINAL_ERROR' : 'FAILED';
    return { status, reason: reasonOf(error) };
  }
};

const completed = (output: unknown): Outcome => {
  if (output === undefined || output === null) return { status: 'COMPLETED', outputJson: '{}' };
  if (typeof output !== 'object' || Array.isArray(output)) {
    const kind = Array.isArray(output) ? 'an array' : `a ${typeof output}`;
    return terminal(`the handler answered ${kind}; the output of a task is a JSON object`);
  }
  try {
    const outputJson = JSON.stringify(output);
    return outputJson.startsWith('{') ? { status: 'COMPLETED', outputJson } : terminal('the output is no JSON object');
  } catch (error) {
    return terminal(`the output is not JSON: ${reasonOf(error)}`);
  }
};

const terminal = (reason: string): Outcome => ({ status: 'FAILED_WITH_TERMINAL_ERROR', reason });

const reasonOf = (error: unknown): string => {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.slice(0, REASON_CHARS_MAX).toWellFormed();
};

/** The report of an outcome as JSON text. */
export const reportJson = ({ taskId, leaseToken }: Lease, outcome: Outcome): string => {
  const head = `{"taskId":${JSON.stringify(taskId)},"leaseToken":${JSON.stringify(leaseToken)}`;
  return outcome.status === 'COMPLETED'
    ? `${head},"status":"COMPLETED","output":${outcome.outputJson}}`
    : `${head},"status":"${outcome.status}","output":{},"reason":${JSON.stringify(outcome.reason)}}`;
};
