import { expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { ok } from '../../../src/domain/kernel/result.ts';
import type { OutboundRequest } from '../../../src/ports/outbound-http.ts';
import { eventStep, fork, join, type Step, setVariable, simple, webhook } from '../../support/builders.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { noCalls } from '../../support/outbound.ts';
import { registerWorkflow, startRun, whenEnded } from '../../support/runs.ts';
import { leaseOne, reportOne } from '../../support/workers.ts';

const CANARY = 'SEKRIT-c4n4ry-7f3a';
const REF = '${workflow.secrets.canary}';

const sent: OutboundRequest[] = [];
/** A host that says back whatever it is told. */
const echo = {
  ...noCalls,
  http: {
    send: async (request: OutboundRequest) => {
      sent.push(request);
      const statusCode = request.url.endsWith('/fails') ? 400 : 200;
      const body = JSON.stringify({ request, text: request.url });
      return ok({ statusCode, reasonPhrase: `echo ${request.url}`, headers: { echo: [request.url] }, body });
    },
  },
};

const step = (type: string, ref: string, inputParameters: JsonObject, fields: JsonObject = {}): Step => ({
  name: ref,
  taskReferenceName: ref,
  type,
  inputParameters,
  ...fields,
});

const { at, cluster } = useCluster({ outbound: echo });

const everythingStored = async (): Promise<string> => {
  const { observer } = cluster();
  const { rows: tables } = await observer.query<{ name: string }>(
    `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await observer.query<{ row: string }>(`select t::text as row from ${name} t`);
    texts.push(...rows.map(({ row }) => row));
  }
  expect(tables.length).toBeGreaterThan(20);
  return texts.join('\n');
};

const everythingTold = async (ids: readonly ExecutionId[]): Promise<string> => {
  const server = at(0);
  const told: unknown[] = [server.problems, await server.useCases.secrets.list(NAMESPACE, 100)];
  for (const id of ids) {
    const stream = await server.useCases.executions.stream(NAMESPACE, id, 0, new AbortController().signal);
    if (stream.ok) for await (const item of stream.value) told.push(item);
    const detail = await server.useCases.executions.get(NAMESPACE, id);
    told.push(detail.ok && [detail.value.view, detail.value.live, detail.value.waitingFor]);
    told.push(await server.index.history(NAMESPACE, id, 0, 1_000));
    told.push(await server.index.openTasks(NAMESPACE, id));
  }
  told.push(await server.index.search(NAMESPACE, {}, { limit: 100 }));
  return JSON.stringify(told);
};

it('a secret that every feature used is found nowhere but with those it was for', async () => {
  const server = at(0);
  expect((await server.useCases.secrets.put(NAMESPACE, 'canary', CANARY)).ok).toBe(true);
  await registerWorkflow(server, {
    name: 'canary_child',
    version: 1,
    tasks: [simple('in_child', { inputParameters: { own: REF, given: '${workflow.input.token}' } })],
  });
  await registerWorkflow(server, {
    name: 'canary',
    version: 1,
    tasks: [
      simple('worker', { inputParameters: { token: REF, text: `Bearer ${REF}` } }),
      step('HTTP', 'called', { uri: `https://echo.example/?key=${REF}`, headers: { 'x-key': REF } }),
      step('HTTP', 'open', { uri: `https://echo.example/open/${REF}` }, { asyncComplete: true, optional: true }),
      step('INLINE', 'script', { token: REF, expression: '"it is " + $.token' }),
      step('INLINE', 'throws', { token: REF, expression: 'throw new Error("it is " + $.token)' }, { optional: true }),
      step('JSON_JQ_TRANSFORM', 'jq', { token: REF, queryExpression: '{ said: .token }' }),
      setVariable('variable', { token: REF }),
      eventStep('told', 'internal:canary', { inputParameters: { token: REF } }),
      fork('split', [
        [webhook('hook', { secret: REF })],
        [step('SUB_WORKFLOW', 'child', { token: REF }, { subWorkflowParam: { name: 'canary_child' } })],
      ]),
      join('joined'),
      step('HTTP', 'fails', { uri: 'https://echo.example/fails', method: 'POST', body: { token: REF } }),
    ],
    failureWorkflow: 'canary_child',
  });
  server.startLoops();
  const id = await startRun(server, 'canary', { input: { hint: REF } });
  const worker = await leaseOne(server, 'worker', { waitMs: 20_000 });
  expect(worker.input).toEqual({ token: CANARY, text: `Bearer ${CANARY}` });
  await reportOne(server, worker);
  const openTask = async (ref: string) => {
    const rows = await server.index.openTasks(NAMESPACE, id);
    return rows.find((row) => row.ref === ref && !row.leased && row.startedAt !== undefined);
  };
  await expect.poll(() => openTask('open'), { timeout: 20_000 }).toBeDefined();
  const told = await everythingTold([]);
  expect(told).not.toContain(CANARY);
  expect(JSON.stringify(await openTask('open'))).toContain('***');
  const completion = { status: 'COMPLETED', output: {} } as const;
  await server.useCases.doors.completeTask(NAMESPACE, (await openTask('open'))?.taskId as never, completion, 'test');
  const child = await leaseOne(server, 'in_child', { waitMs: 20_000 });
  // What a parent gives its child is data there: only a step that names a secret itself gets it.
  expect(child.input).toEqual({ own: CANARY, given: REF });
  expect(await everythingStored()).not.toContain(CANARY);
  await reportOne(server, child);
  const waits = async () => (await server.index.openTasks(NAMESPACE, id)).find((row) => row.ref === 'hook');
  const hook = await waits();
  await server.useCases.doors.completeTask(NAMESPACE, hook?.taskId as never, completion, 'test');
  expect(await whenEnded(server, id)).toBe('FAILED');
  expect(sent.filter((request) => JSON.stringify(request).includes(CANARY)).map(({ method }) => method)).toEqual([
    'GET',
    'GET',
    'POST',
  ]);
  await leaseOne(server, 'in_child', { waitMs: 20_000 });
  const stored = await everythingStored();
  expect(stored).toContain('workflow.secrets.canary');
  expect([stored.includes(CANARY), (await everythingTold([id, child.executionId])).includes(CANARY)]).toEqual([
    false,
    false,
  ]);
}, 90_000);
