import { z } from 'zod';
import type { ExecutionDetail } from '../../../../application/use-cases.ts';
import type { ExecutionId } from '../../../../domain/kernel/brand.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { RunCondition } from '../../../../ports/run-query.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, type NamespaceCall, type Route } from '../../route.ts';
import { aboutRun, runOf } from '../run-of-path.ts';
import { query } from '../schemas/fields.ts';
import { correlationBatch, correlationIds, includesQuery } from '../schemas/workflow.ts';
import { type TaskBody, taskBodiesOf } from '../wire/task.ts';
import { taskRunOf, type WorkflowBody, workflowBodyOf } from '../wire/workflow.ts';

type Call = Pick<NamespaceCall<string, unknown, unknown>, 'useCases' | 'namespace'>;

/** Runs of one correlation id that an answer holds, and ids of running ones. */
export const CORRELATED_RUNS_MAX = 1_000;
export const RUNNING_IDS_MAX = 10_000;
/** Runs read at a time for one answer. */
const READS_AT_A_TIME = 4;

const detailOf = async (call: Call, path: string): Promise<Result<ExecutionDetail, ApiError>> => {
  const id = runOf(path);
  return id.ok ? aboutRun(id.value, await call.useCases.executions.get(call.namespace, id.value)) : id;
};

const get = conductorRoute({
  method: 'GET',
  path: '/workflow/:workflowId',
  summary: 'A run, with its tasks unless told otherwise.',
  scope: 'executions:read',
  query: z.object({ includeTasks: query.flag(true) }),
  handle: async (call) => {
    const detail = await detailOf(call, call.params.workflowId);
    return detail.ok ? ok(json<WorkflowBody>(200, workflowBodyOf(detail.value, call.query.includeTasks))) : detail;
  },
});

type StatusBody = Readonly<{
  workflowId: string;
  correlationId?: string;
  status: string;
  output?: JsonObject;
  variables?: JsonObject;
}>;

const status = conductorRoute({
  method: 'GET',
  path: '/workflow/:workflowId/status',
  summary: 'The status of a run, with its output and variables where asked for.',
  scope: 'executions:read',
  query: z.object({ includeOutput: query.flag(false), includeVariables: query.flag(false) }),
  handle: async (call) => {
    const { includeOutput, includeVariables } = call.query;
    const id = runOf(call.params.workflowId);
    if (!id.ok) return id;
    if (!includeOutput && !includeVariables) {
      const summary = aboutRun(id.value, await call.useCases.executions.status(call.namespace, id.value));
      if (!summary.ok) return summary;
      const { executionId, status: now, correlationId } = summary.value;
      const known = { workflowId: executionId, status: now };
      return ok(json<StatusBody>(200, { ...known, ...(correlationId !== undefined && { correlationId }) }));
    }
    const detail = await detailOf(call, id.value);
    if (!detail.ok) return detail;
    const { view } = detail.value;
    return ok(
      json<StatusBody>(200, {
        workflowId: view.executionId,
        status: view.status,
        ...(view.correlationId !== undefined && { correlationId: view.correlationId }),
        ...(includeOutput && { output: view.output ?? {} }),
        ...(includeVariables && { variables: view.variables }),
      }),
    );
  },
});

const TASKS_PAGE_DEFAULT = 15;
const TASKS_PAGE_MAX = 10_000;

type TaskPageBody = Readonly<{ totalHits: number; results: readonly TaskBody[] }>;

const tasks = conductorRoute({
  method: 'GET',
  path: '/workflow/:workflowId/tasks',
  summary: 'Tasks of a run by their place and status.',
  scope: 'executions:read',
  query: z.object({
    start: query.integerOr(0, Number.MAX_SAFE_INTEGER, 0),
    count: query.integerOr(0, TASKS_PAGE_MAX, TASKS_PAGE_DEFAULT),
    status: query.list,
  }),
  handle: async (call) => {
    const { start, count, status: statuses } = call.query;
    const detail = await detailOf(call, call.params.workflowId);
    if (!detail.ok) return detail;
    const all = taskBodiesOf(detail.value.view.tasks, taskRunOf(detail.value));
    const wanted = statuses.length === 0 ? all : all.filter((task) => statuses.includes(task.status));
    return ok(json<TaskPageBody>(200, { totalHits: wanted.length, results: wanted.slice(start, start + count) }));
  },
});

const is = (field: 'name' | 'correlationId', value: string): RunCondition => ({
  kind: 'field',
  field,
  test: { operator: '=', value },
});

const GOING: RunCondition = { kind: 'field', field: 'status', test: { operator: 'in', values: ['RUNNING', 'PAUSED'] } };

const idsOf = async (
  { useCases, namespace }: Call,
  of: readonly RunCondition[],
  limit: number,
): Promise<Result<readonly ExecutionId[], ApiError>> => {
  const page = { condition: { kind: 'all', of } as const, sort: [], offset: 0, limit, countMax: limit };
  const found = await useCases.executions.searchRuns(namespace, page);
  return found.ok ? ok(found.value.rows.map(({ executionId }) => executionId)) : found;
};

const timed = (operator: '<=' | '>=', at: number | undefined): readonly RunCondition[] =>
  at === undefined ? [] : [{ kind: 'field', field: 'startedAt', test: { operator, value: at } }];

/** The last instant that the store has a calendar for. */
const INSTANT_MAX = 253_402_300_799_999;

const running = conductorRoute({
  method: 'GET',
  path: '/workflow/running/:name',
  summary: 'Ids of the runs of a version that are going, or of those that began in a time.',
  scope: 'executions:read',
  query: z.object({
    version: query.integer(0, 2_147_483_647),
    startTime: query.integer(0, INSTANT_MAX),
    endTime: query.integer(0, INSTANT_MAX),
  }),
  handle: async (call) => {
    const { version = 1, startTime, endTime } = call.query;
    const hasTime = startTime !== undefined && endTime !== undefined;
    const of: RunCondition[] = [
      is('name', call.params.name),
      { kind: 'field', field: 'version', test: { operator: '=', value: version } },
      ...(hasTime ? [...timed('>=', startTime), ...timed('<=', endTime)] : [GOING]),
    ];
    const ids = await idsOf(call, of, RUNNING_IDS_MAX);
    return ids.ok ? ok(json(200, ids.value)) : ids;
  },
});

/** Reads runs that were found, a few at a time and in their order; one that was removed meanwhile is left out. */
export const workflowsOf = async (
  { useCases, namespace }: Call,
  ids: readonly ExecutionId[],
  includeTasks: boolean,
): Promise<readonly WorkflowBody[]> => {
  const bodies = new Map<ExecutionId, WorkflowBody>();
  const rest = ids.values();
  const flight = async (): Promise<void> => {
    for (const id of rest) {
      const detail = await useCases.executions.get(namespace, id);
      if (detail.ok) bodies.set(id, workflowBodyOf(detail.value, includeTasks));
    }
  };
  await Promise.all(Array.from({ length: READS_AT_A_TIME }, flight));
  return ids.flatMap((id) => bodies.get(id) ?? []);
};

type Includes = Readonly<{ includeClosed: boolean; includeTasks: boolean }>;

const correlatedWith = async (
  call: Call,
  names: readonly string[],
  correlationId: string,
  { includeClosed, includeTasks }: Includes,
): Promise<Result<readonly WorkflowBody[], ApiError>> => {
  const isNamed: RunCondition = { kind: 'any', of: names.map((name) => is('name', name)) };
  const of = [isNamed, is('correlationId', correlationId), ...(includeClosed ? [] : [GOING])];
  const ids = await idsOf(call, of, CORRELATED_RUNS_MAX);
  return ids.ok ? ok(await workflowsOf(call, ids.value, includeTasks)) : ids;
};

const correlatedByIds = async (
  call: Call,
  names: readonly string[],
  ids: readonly string[],
  includes: Includes,
): Promise<Result<Readonly<Record<string, readonly WorkflowBody[]>>, ApiError>> => {
  const found = new Map<string, readonly WorkflowBody[]>();
  for (const id of new Set(ids)) {
    const runs = await correlatedWith(call, names, id, includes);
    if (!runs.ok) return err(runs.error);
    found.set(id, runs.value);
  }
  return ok(Object.fromEntries(found));
};

const correlated = conductorRoute({
  method: 'GET',
  path: '/workflow/:name/correlated/:correlationId',
  summary: 'Runs of a workflow with a correlation id.',
  scope: 'executions:read',
  query: includesQuery,
  handle: async (call) => {
    const { name, correlationId } = call.params;
    const runs = await correlatedWith(call, [name], correlationId, call.query);
    return runs.ok ? ok(json(200, runs.value)) : runs;
  },
});

const correlatedMany = conductorRoute({
  method: 'POST',
  path: '/workflow/:name/correlated',
  summary: 'Runs of a workflow by each of several correlation ids.',
  scope: 'executions:read',
  query: includesQuery,
  body: correlationIds,
  handle: async (call) => {
    const runs = await correlatedByIds(call, [call.params.name], call.body, call.query);
    return runs.ok ? ok(json(200, runs.value)) : runs;
  },
});

const correlatedBatch = conductorRoute({
  method: 'POST',
  path: '/workflow/correlated/batch',
  summary: 'Runs of several workflows by each of several correlation ids.',
  scope: 'executions:read',
  query: includesQuery,
  body: correlationBatch,
  handle: async (call) => {
    const { workflowNames, correlationIds: ids } = call.body;
    const runs = await correlatedByIds(call, workflowNames, ids, call.query);
    return runs.ok ? ok(json(200, runs.value)) : runs;
  },
});

export const workflowReadRoutes: readonly Route[] = [
  running,
  correlatedBatch,
  correlated,
  correlatedMany,
  status,
  tasks,
  get,
];
