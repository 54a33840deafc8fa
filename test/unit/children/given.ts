import { afterAll, beforeAll } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import type { Step } from '../../support/builders.ts';
import { NAMESPACE } from '../../support/engine.ts';
import { type MemoryServer, openMemoryServer } from '../../support/memory-server.ts';
import { registerWorkflow, statusOf } from '../../support/runs.ts';
import { leaseOne, reportOne } from '../../support/workers.ts';

/** A server for the tests of the file. */
export const useMemoryServer = (): (() => MemoryServer) => {
  let server: MemoryServer | undefined;
  beforeAll(async () => {
    server = await openMemoryServer();
  });
  afterAll(() => server?.close());
  return () => {
    if (server === undefined) throw new Error('the server is open only while tests run');
    return server;
  };
};

export const register = (server: MemoryServer, name: string, tasks: readonly Step[], fields: JsonObject = {}) =>
  registerWorkflow(server, { name, version: 1, tasks, ...fields });

/** A step that waits for a child; by default the child is called like the step. */
export const sub = (ref: string, subWorkflowParam: JsonObject = { name: ref }, fields: JsonObject = {}): Step => ({
  name: ref,
  taskReferenceName: ref,
  type: 'SUB_WORKFLOW',
  subWorkflowParam,
  ...fields,
});

export const startStep = (ref: string, startWorkflow: JsonObject, fields: JsonObject = {}): Step => ({
  name: ref,
  taskReferenceName: ref,
  type: 'START_WORKFLOW',
  inputParameters: { startWorkflow },
  ...fields,
});

/** A run as its detail tells it. */
export const seen = async (server: MemoryServer, id: ExecutionId) => {
  const detail = await server.useCases.executions.get(NAMESPACE, id);
  if (!detail.ok) throw new Error(detail.error.message);
  return detail.value;
};

export const viewOf = async (server: MemoryServer, id: ExecutionId) => (await seen(server, id)).view;

/** The latest attempt of a task. */
export const taskOf = async (server: MemoryServer, id: ExecutionId, ref: string) => {
  const task = (await viewOf(server, id)).tasks.findLast((candidate) => candidate.ref === ref);
  if (task === undefined) throw new Error(`${id} has no task ${ref}`);
  return task;
};

/** The run that the latest attempt of a SUB_WORKFLOW started. */
export const childOf = async (server: MemoryServer, id: ExecutionId, ref: string): Promise<ExecutionId> => {
  const { subWorkflowId } = await taskOf(server, id, ref);
  if (subWorkflowId === undefined) throw new Error(`${ref} of ${id} has no child`);
  return subWorkflowId;
};

/** All runs of a name, the oldest first. */
export const runsOf = async (server: MemoryServer, name: string) =>
  (await server.index.search(NAMESPACE, { name }, { limit: 1_000 })).toReversed();

export const statuses = async (server: MemoryServer, ids: readonly ExecutionId[]): Promise<readonly string[]> =>
  Promise.all(ids.map((id) => statusOf(server, id)));

/** A worker takes one task of the queue and reports. */
export const work = async (
  server: MemoryServer,
  queue: string,
  report: Readonly<{ status?: 'COMPLETED' | 'FAILED' | 'FAILED_WITH_TERMINAL_ERROR'; output?: JsonObject }> = {},
): Promise<void> => {
  const leased = await leaseOne(server, queue);
  const outcome = await reportOne(server, leased, { status: 'COMPLETED', output: {}, ...report });
  if (outcome !== 'settled') throw new Error(`the report of ${queue} was ${outcome}`);
  await server.settle();
};

/** RUNNING runs below one that has ended, at whatever depth: there must never be one. */
export const orphans = async (server: MemoryServer): Promise<readonly string[]> => {
  const found: string[] = [];
  const all = await server.index.search(NAMESPACE, {}, { limit: 1_000 });
  const byId = new Map(all.map((run) => [run.executionId, run]));
  for (const run of all) {
    const parent = run.parentExecutionId === undefined ? undefined : byId.get(run.parentExecutionId);
    if (run.endedAt === undefined && parent?.endedAt !== undefined) found.push(`${run.name} under ${parent.name}`);
  }
  return found;
};
