import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { type ConductorServer, NAMESPACE } from './conductor-server.ts';

export type Body = Readonly<Record<string, unknown>>;
export type WorkflowBody = Body & Readonly<{ status: string; tasks: readonly Body[] }>;

/** Registers a workflow of these steps as a Conductor client would. */
export const registerFlow = async (
  { useCases }: ConductorServer,
  name: string,
  steps: readonly JsonObject[],
): Promise<void> => {
  const document = { name, version: 1, tasks: steps };
  const answer = await useCases.definitions.registerWorkflow(NAMESPACE, document, 'conductor', true);
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
};

export const registerTask = async ({ useCases }: ConductorServer, document: JsonObject): Promise<void> => {
  const answer = await useCases.definitions.registerTask(NAMESPACE, document, 'conductor');
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
};

export const startFlow = async (
  { useCases }: ConductorServer,
  name: string,
  more: Readonly<{ input?: JsonObject; taskToDomain?: Readonly<Record<string, string>> }> = {},
): Promise<ExecutionId> => {
  const request = { name, input: {}, correlationId: 'c-1', priority: 3, idempotencyStrategy: 'FAIL', ...more } as const;
  const run = await useCases.executions.start(NAMESPACE, request);
  if (!run.ok) throw new Error(JSON.stringify(run.error));
  return run.value.executionId;
};

export const workflowOf = async (server: ConductorServer, id: string): Promise<WorkflowBody> =>
  (await server.send('GET', `/api/workflow/${id}`)).json as WorkflowBody;

export const statusOf = async ({ useCases }: ConductorServer, id: ExecutionId): Promise<string> => {
  const row = await useCases.executions.status(NAMESPACE, id);
  if (!row.ok) throw new Error(JSON.stringify(row.error));
  return row.value.status;
};

/** Waits for the end of a run, however it ends. */
export const ended = async ({ useCases }: ConductorServer, id: ExecutionId): Promise<string> => {
  const { signal } = new AbortController();
  const detail = await useCases.executions.wait(NAMESPACE, id, { waitMs: 30_000, signal });
  if (!detail.ok) throw new Error(JSON.stringify(detail.error));
  return detail.value.view.status;
};
