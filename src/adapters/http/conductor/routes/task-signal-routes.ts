import { z } from 'zod';
import type { SignalCall } from '../../../../application/use-cases.ts';
import type { ExecutionId } from '../../../../domain/kernel/brand.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, type NamespaceCall, NOTHING, type Route } from '../../route.ts';
import { aboutRun, runOf } from '../run-of-path.ts';
import { object, query } from '../schemas/fields.ts';
import { returnStrategy } from '../schemas/workflow.ts';
import { runResponseOf } from '../wire/run-response.ts';

/** How long a caller waits for what its signal sets going, in milliseconds. */
const SIGNAL_WAIT_MS = 5_000;
const SIGNAL_WAIT_MS_MAX = 60_000;

const signalStatus = z.enum(['COMPLETED', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR']) satisfies z.ZodType<
  SignalCall['status']
>;

type Signal = NamespaceCall<'/:workflowId/:status', unknown, JsonObject>;

const deliver = async (call: Signal): Promise<Result<ExecutionId, ApiError>> => {
  const { useCases, namespace, principal, params, body: output } = call;
  const id = runOf(params.workflowId);
  if (!id.ok) return id;
  const status = signalStatus.safeParse(params.status);
  if (!status.success) {
    const message = `The status of a signal is one of ${signalStatus.options.join(', ')}.`;
    return err({ code: 'VALIDATION_FAILED', message, path: 'status' });
  }
  const signal = { status: status.data, output };
  const answer = aboutRun(id.value, await useCases.executions.signal(namespace, id.value, signal, principal.id));
  if (answer.ok) return id;
  if (answer.error.code !== 'INVALID_STATE') return answer;
  return err({ code: 'NOT_FOUND', message: `No task of workflow ${id.value} waits for a signal` });
};

const SPEC = {
  method: 'POST',
  scope: 'executions:signal',
  body: object,
  bodyKind: 'payload',
  bodyOptional: true,
  bodyIsData: true,
} as const;

const signal = conductorRoute({
  ...SPEC,
  path: '/tasks/:workflowId/:status/signal',
  summary: 'End the first task of a run, or of those below it, that waits for somebody.',
  handle: async (call) => {
    const delivered = await deliver(call);
    return delivered.ok ? ok(NOTHING) : delivered;
  },
});

const signalSync = conductorRoute({
  ...SPEC,
  path: '/tasks/:workflowId/:status/signal/sync',
  summary: 'The same, answered when the run has ended or waits again.',
  query: z.object({
    returnStrategy: returnStrategy,
    timeoutMillis: query.integerOr(0, Number.MAX_SAFE_INTEGER, SIGNAL_WAIT_MS),
  }),
  handle: async (call) => {
    const delivered = await deliver(call);
    if (!delivered.ok) return delivered;
    const { useCases, namespace, query: asked, signal: aborted, requestId } = call;
    const waitMs = Math.min(asked.timeoutMillis, SIGNAL_WAIT_MS_MAX);
    const wait = { waitMs, untilTaskRefs: [], signal: aborted };
    const blocked = await useCases.executions.waitUntilBlocked(namespace, delivered.value, wait);
    if (!blocked.ok) return blocked;
    const response = runResponseOf(blocked.value, asked.returnStrategy, requestId);
    return ok(response === undefined ? NOTHING : json(200, response));
  },
});

export const taskSignalRoutes: readonly Route[] = [signalSync, signal];
