import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TASK_TYPES } from '../../../src/domain/definition/task-types.ts';
import type { TaskView } from '../../../src/domain/execution/view.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { ok } from '../../../src/domain/kernel/result.ts';
import { type EngineHarness, NAMESPACE, startEngine } from '../../support/engine-harness.ts';
import { noCalls } from '../../support/outbound.ts';
import { allowUnsafeDurability, createTestDatabase } from '../../support/postgres.ts';

/** Read where it is kept: the definitions are other projects' data and are not copied into this repository. */
const CORPUS = new URL('../../../../shared/corpus/conductor-definitions.jsonl', import.meta.url);

type Entry = Readonly<{ source: string; definition: JsonObject }>;

const corpus: readonly Entry[] = readFileSync(CORPUS, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line));

const NESTED = ['decisionCases', 'defaultCase', 'forkTasks', 'loopOver', 'tasks'];

/** Types that this version executes, but for one that polls a host by the minute; what else Conductor knows registers, and fails when it is reached. */
const EXECUTED: ReadonlySet<string> = new Set(TASK_TYPES.filter((type) => type !== 'HTTP_POLL'));

const typesOf = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(typesOf);
  if (typeof value !== 'object' || value === null) return [];
  const node = value as Record<string, unknown>;
  const own = typeof node.taskReferenceName === 'string' ? [String(node.type ?? 'SIMPLE')] : [];
  const children = NESTED.flatMap((field) => {
    const child = node[field];
    return field === 'decisionCases' && child !== null && typeof child === 'object'
      ? Object.values(child).flatMap(typesOf)
      : typesOf(child);
  });
  return [...own, ...children];
};

/** What every host answers to every call. */
const ANSWER = { statusCode: 200, reasonPhrase: 'OK', headers: {}, body: '{"result":"ok"}' };

let engine: EngineHarness;
let database: Awaited<ReturnType<typeof createTestDatabase>>;

beforeAll(async () => {
  database = await createTestDatabase();
  engine = await startEngine({
    url: database.url,
    allowUnsafeDurability: allowUnsafeDurability(),
    outbound: { ...noCalls, http: { send: async () => ok(ANSWER) } },
  });
});

afterAll(async () => {
  await engine.stop();
  await database.drop();
});

type Ends = Readonly<{ counts: Record<string, number>; failures: readonly string[] }>;

/** Leases whatever is ready and completes it. Answers how many tasks that were. */
const completeReady = async (): Promise<number> => {
  const { workers } = engine.useCases;
  const depths = await workers.queues(NAMESPACE);
  if (!depths.ok) throw new Error(depths.error.message);
  const queues = depths.value
    .filter(({ queue, ready }) => ready > 0 && !queue.startsWith('$'))
    .map(({ queue }) => queue);
  if (queues.length === 0) return 0;
  const call = { namespace: NAMESPACE, queues, workerId: 'corpus', count: 1_000, waitMs: 0 };
  const leased = await workers.lease({ ...call, signal: new AbortController().signal });
  if (!leased.ok) throw new Error(leased.error.message);
  const reports = leased.value.map(({ taskId, leaseToken }) => ({
    taskId,
    leaseToken,
    status: 'COMPLETED' as const,
    output: { result: 'ok' },
  }));
  await workers.report(NAMESPACE, reports);
  return reports.length;
};

const isOfChild = (tasks: readonly TaskView[], taskId: string): boolean =>
  tasks.some((task) => task.taskId === taskId && (task.type === 'SUB_WORKFLOW' || task.type === 'START_WORKFLOW'));

/** Completes what is ready, and what waits, until every run has ended. */
const driveToTheEnd = async (ids: readonly ExecutionId[]): Promise<Ends> => {
  const { executions, doors } = engine.useCases;
  const asked = new Set(ids);
  const open = new Set(ids);
  const counts: Record<string, number> = {};
  const failures: string[] = [];
  while (open.size > 0) {
    if ((await completeReady()) > 0) continue;
    for (const id of open) {
      const detail = await executions.get(NAMESPACE, id);
      if (!detail.ok) throw new Error(detail.error.message);
      const { view, live } = detail.value;
      if (view.endedAt !== undefined) {
        open.delete(id);
        if (!asked.has(id)) continue;
        counts[view.status] = (counts[view.status] ?? 0) + 1;
        if (view.status !== 'COMPLETED') failures.push(`${view.name} ${view.status}: ${view.reason ?? ''}`);
        continue;
      }
      // What a run waits for may itself wait: its children are driven like it, and counted with it.
      for (const { subWorkflowId, endedAt } of view.tasks) {
        if (subWorkflowId !== undefined && endedAt === undefined) open.add(subWorkflowId);
      }
      const waits = live.find(
        ({ family, hasOutcome, taskId }) => family === 'waiting' && !hasOutcome && !isOfChild(view.tasks, taskId),
      );
      const call = { status: 'COMPLETED', output: { approved: true } } as const;
      if (waits !== undefined) await doors.completeTask(NAMESPACE, waits.taskId, call, 'corpus');
    }
  }
  return { counts, failures };
};

test('every public definition registers or is refused with a path, and those of our types run to their end', async () => {
  const secrets = new Set(
    [...JSON.stringify(corpus).matchAll(/\$\{(?:workflow\.)?secrets\.([\w-]+)/g)].map(([, name]) => name),
  );
  expect(secrets.size).toBeGreaterThan(0);
  for (const name of secrets) await engine.useCases.secrets.put(NAMESPACE, name ?? '', 'sesame');
  const refused: string[] = [];
  const started: ExecutionId[] = [];
  let registered = 0;
  for (const { source, definition } of corpus) {
    const outcome = await engine.useCases.definitions.registerWorkflow(NAMESPACE, definition, 'conductor', true);
    if (!outcome.ok) {
      refused.push(`${source}: ${outcome.error.code} ${outcome.error.path ?? ''} ${outcome.error.message}`);
      continue;
    }
    registered += 1;
    if (!typesOf(definition).every((type) => EXECUTED.has(type))) continue;
    const { name, version } = outcome.value.definition;
    const run = await engine.useCases.executions.start(NAMESPACE, {
      name,
      version,
      input: {},
      priority: 0,
      idempotencyStrategy: 'RETURN_EXISTING',
    });
    if (!run.ok) throw new Error(`${source}: ${run.error.code} ${run.error.message}`);
    started.push(run.value.executionId);
  }
  const ends = await driveToTheEnd(started);
  console.info(
    `corpus: ${corpus.length} definitions, ${registered} registered, ${refused.length} refused, ${started.length} run: ${JSON.stringify(ends.counts)}\n${[...refused, ...ends.failures].join('\n')}`,
  );
  expect({ registered, refused: refused.length, run: started.length, ends: ends.counts }).toEqual({
    registered: 512,
    refused: 0,
    run: 492,
    ends: { COMPLETED: 467, FAILED: 23, TERMINATED: 2 },
  });
}, 240_000);
