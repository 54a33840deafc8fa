import { z } from 'zod';
import { type ExecutionId, parseExecutionId } from '../../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, type Method, type NamespaceCall, type RequiredScope, type Route } from '../../route.ts';
import { type Done, pause, remove, restart, resume, retry, terminate, terminateAndRemove } from '../control.ts';
import { noWorkflow } from '../run-of-path.ts';
import { query } from '../schemas/fields.ts';
import { bulkIds } from '../schemas/workflow.ts';
import { type WorkflowBody, workflowBodyOf } from '../wire/workflow.ts';

/** Runs of one call that are dealt with at a time: many enough to hide the round trips, few enough to leave the others room. */
const BULK_FLIGHTS = 4;

/** Conductor's BulkResponse. */
type BulkBody<T> = Readonly<{
  bulkErrorResults: Readonly<Record<string, string>>;
  bulkSuccessfulResults: readonly T[];
  message: string;
}>;

/** One answer for each id, in their order; what goes wrong with one stops none of the others. */
const bulk = async <T>(
  ids: readonly string[],
  act: (id: ExecutionId) => Promise<Result<T, ApiError>>,
): Promise<BulkBody<T>> => {
  const answers = new Map<string, Result<T, ApiError>>();
  const rest = new Set(ids).values();
  const flight = async (): Promise<void> => {
    for (const id of rest) {
      const parsed = parseExecutionId(id);
      answers.set(id, parsed === undefined ? err(noWorkflow(id)) : await act(parsed));
    }
  };
  await Promise.all(Array.from({ length: BULK_FLIGHTS }, flight));
  const refused: (readonly [string, string])[] = [];
  const done: T[] = [];
  for (const id of new Set(ids)) {
    const answer = answers.get(id);
    if (answer?.ok) done.push(answer.value);
    else if (answer !== undefined) refused.push([id, answer.error.message]);
  }
  return {
    bulkErrorResults: Object.fromEntries(refused),
    bulkSuccessfulResults: done,
    message: 'Bulk Request has been processed.',
  };
};

const options = z.object({
  reason: query.text,
  useLatestDefinitions: query.flag(false),
  archiveWorkflow: query.flag(true),
  triggerFailureWorkflow: query.flag(false),
});

type Call = NamespaceCall<string, z.output<typeof options>, readonly string[]>;
type Action = (call: Call, id: ExecutionId) => Done;

const bulkRoute = (method: Method, verb: string, scope: RequiredScope, act: Action): Route =>
  conductorRoute({
    method,
    path: `/workflow/bulk/${verb}` as '/workflow/bulk/verb',
    summary: `${verb} of many runs at once, each by itself.`,
    scope,
    query: options,
    body: bulkIds,
    handle: async (call) =>
      ok(
        json<BulkBody<string>>(
          200,
          await bulk(call.body, async (id) => {
            const done = await act(call, id);
            return done.ok ? ok(id) : done;
          }),
        ),
      ),
  });

const terminateEach: Action = (call, id) => terminate(call, id, call.query);
const removeEach: Action = (call, id) => terminateAndRemove(call, id, call.query.reason);

const search = conductorRoute({
  method: 'POST',
  path: '/workflow/bulk/search',
  summary: 'Read many runs at once.',
  scope: 'executions:read',
  query: z.object({ includeTasks: query.flag(true) }),
  body: bulkIds,
  handle: async ({ useCases, namespace, body, query: { includeTasks } }) =>
    ok(
      json<BulkBody<WorkflowBody>>(
        200,
        await bulk(body, async (id) => {
          const detail = await useCases.executions.get(namespace, id);
          return detail.ok ? ok(workflowBodyOf(detail.value, includeTasks)) : err(noWorkflow(id));
        }),
      ),
    ),
});

export const workflowBulkRoutes: readonly Route[] = [
  bulkRoute('PUT', 'pause', 'executions:control', pause),
  bulkRoute('PUT', 'resume', 'executions:control', resume),
  bulkRoute('POST', 'restart', 'executions:control', (call, id) => restart(call, id, call.query.useLatestDefinitions)),
  bulkRoute('POST', 'retry', 'executions:control', (call, id) => retry(call, id, false)),
  bulkRoute('POST', 'terminate', 'executions:control', terminateEach),
  bulkRoute('DELETE', 'remove', 'executions:delete', remove),
  bulkRoute('DELETE', 'terminate-remove', 'executions:delete', removeEach),
  bulkRoute('POST', 'delete', 'executions:delete', remove),
  search,
];
