import type { StartRequest } from '../../src/application/use-cases.ts';
import type { WorkflowEvent, WorkflowEventType } from '../../src/domain/execution/events.ts';
import type { ExecutionStatus } from '../../src/domain/execution/statuses.ts';
import { isClosedExecution } from '../../src/domain/execution/statuses.ts';
import type { ExecutionId } from '../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { NAMESPACE, type TestServer } from './engine.ts';

const HISTORY_MAX = 100_000;
const END_MS_MAX = 30_000;

export const registerWorkflow = async (server: TestServer, document: JsonObject): Promise<void> => {
  const registered = await server.useCases.definitions.registerWorkflow(NAMESPACE, document, 'v1', true);
  if (!registered.ok) throw new Error(JSON.stringify(registered.error));
};

export const registerTask = async (server: TestServer, document: JsonObject): Promise<void> => {
  const registered = await server.useCases.definitions.registerTask(NAMESPACE, document, 'v1');
  if (!registered.ok) throw new Error(JSON.stringify(registered.error));
};

export const startRequest = (name: string, change: Partial<StartRequest> = {}): StartRequest => ({
  name,
  input: {},
  priority: 0,
  idempotencyStrategy: 'RETURN_EXISTING',
  ...change,
});

export const startRun = async (
  server: TestServer,
  name: string,
  change: Partial<StartRequest> = {},
): Promise<ExecutionId> => {
  const started = await server.useCases.executions.start(NAMESPACE, startRequest(name, change));
  if (!started.ok) throw new Error(`${started.error.code}: ${started.error.message}`);
  return started.value.executionId;
};

export const startRuns = (server: TestServer, name: string, count: number): Promise<readonly ExecutionId[]> =>
  Promise.all(Array.from({ length: count }, () => startRun(server, name)));

/** The log of a run. */
export const eventsOf = async (server: TestServer, id: ExecutionId): Promise<readonly WorkflowEvent[]> =>
  (await server.index.history(NAMESPACE, id, 0, HISTORY_MAX)).map(({ event }) => event);

export const seqsOf = async (server: TestServer, id: ExecutionId): Promise<readonly number[]> =>
  (await server.index.history(NAMESPACE, id, 0, HISTORY_MAX)).map(({ seq }) => seq);

export const ofType = <T extends WorkflowEventType>(
  events: readonly WorkflowEvent[],
  type: T,
): readonly Extract<WorkflowEvent, { type: T }>[] =>
  events.filter((event): event is Extract<WorkflowEvent, { type: T }> => event.type === type);

export const statusOf = async (server: TestServer, id: ExecutionId): Promise<ExecutionStatus> => {
  const row = await server.index.find(NAMESPACE, id);
  if (row === undefined) throw new Error(`there is no run ${id}`);
  return row.status;
};

/** Waits for the end of a run, which must come. */
export const whenEnded = async (server: TestServer, id: ExecutionId, waitMs = END_MS_MAX): Promise<ExecutionStatus> => {
  const detail = await server.useCases.executions.wait(NAMESPACE, id, { waitMs, signal: new AbortController().signal });
  if (!detail.ok) throw new Error(detail.error.message);
  const { view, waitingFor } = detail.value;
  if (!isClosedExecution(view.status)) {
    throw new Error(`run ${id} is still ${view.status} after ${waitMs} ms: ${JSON.stringify(waitingFor)}`);
  }
  return view.status;
};

/** How many of the runs ended how. */
export const endsOf = async (server: TestServer, ids: readonly ExecutionId[]): Promise<Record<string, number>> => {
  const ends: Record<string, number> = {};
  for (const status of await Promise.all(ids.map((id) => whenEnded(server, id))))
    ends[status] = (ends[status] ?? 0) + 1;
  return ends;
};
