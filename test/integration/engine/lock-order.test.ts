import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { fnv1a32 } from '../../../src/domain/kernel/hash.ts';
import type { LeasedTask } from '../../../src/ports/engine-store.ts';
import { connect, NAMESPACE, openServer, type TestServer } from '../../support/engine.ts';
import { deadlocks, leftovers, violations } from '../../support/invariants.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { registerTask, registerWorkflow, startRun } from '../../support/runs.ts';
import { leaseFrom, reportAll, reportOf } from '../../support/workers.ts';
import { step, workflow } from './definitions.ts';
import { expireLeases, passDeadlines } from './given.ts';

const CLIENTS = 12;
const ROUNDS = 25;
const QUEUES = ['lock_a', 'lock_b', 'lock_c'];

/** A number in [0, below) that depends on nothing but its name. */
const pick = (name: string, below: number): number => fnv1a32(name) % below;

describe('locks', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>> | undefined;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database?.drop());

  it('of limited tasks are taken in one order: polls that ask for the same queues in opposite orders meet no deadlock', async () => {
    const url = database?.url ?? '';
    const servers = await Promise.all([openServer(url), openServer(url)]);
    const [one, two] = servers;
    if (one === undefined || two === undefined) throw new Error('expected two servers');
    const [a, b] = ['poll_a', 'poll_b'];
    for (const queue of [a, b]) await registerTask(one, { name: queue, concurrentExecLimit: 1_000 });
    const forkTasks = Array.from({ length: 40 }, (_, index) => [step(index % 2 === 0 ? a : b, `t${index}`)]);
    await registerWorkflow(
      one,
      workflow('polls', [
        { name: 'fork', taskReferenceName: 'fork', type: 'FORK_JOIN', forkTasks },
        { name: 'join', taskReferenceName: 'join', type: 'JOIN', joinOn: forkTasks.map((_, index) => `t${index}`) },
      ]),
    );
    for (let round = 0; round < 12; round += 1) {
      const id = await startRun(one, 'polls');
      // Calls that come while two are in flight are answered together by the next transaction.
      const calls = Array.from({ length: 8 }, (_, index) => {
        const [first, second] = index % 2 === 0 ? [a, b] : [b, a];
        return [leaseFrom(one, [first], { count: 2 }), leaseFrom(two, [second], { count: 2 })];
      });
      await Promise.all(calls.flat());
      await one.useCases.executions.terminate(NAMESPACE, id, 'test');
    }
    await Promise.all(servers.map((server) => server.close()));
    const observer = await connect(url);
    expect(await deadlocks(observer)).toBe(0);
    await observer.end();
  });

  it('of many runs at once are taken in one order: reports of the same runs in opposite orders meet no deadlock', async () => {
    const url = database?.url ?? '';
    const servers = await Promise.all([openServer(url), openServer(url)]);
    const [one, two] = servers;
    if (one === undefined || two === undefined) throw new Error('expected two servers');
    const branches = ['one', 'two'].map((ref) => [step(`report_${ref}`, ref)]);
    await registerWorkflow(
      one,
      workflow('reports', [
        { name: 'fork', taskReferenceName: 'fork', type: 'FORK_JOIN', forkTasks: branches },
        { name: 'join', taskReferenceName: 'join', type: 'JOIN', joinOn: ['one', 'two'] },
      ]),
    );
    for (let round = 0; round < 6; round += 1) {
      await Promise.all(Array.from({ length: 60 }, () => startRun(one, 'reports')));
      const forth = await leaseFrom(one, ['report_one'], { count: 60 });
      const back = await leaseFrom(two, ['report_two'], { count: 60 });
      const answers = await Promise.all([
        reportAll(
          one,
          forth.map((task) => reportOf(task)),
        ),
        reportAll(
          two,
          back.toReversed().map((task) => reportOf(task)),
        ),
        one.evaluator.runOnce(),
        two.evaluator.runOnce(),
      ]);
      expect(new Set(answers.slice(0, 2).flat())).toEqual(new Set(['settled']));
    }
    await one.evaluateAll();
    await Promise.all(servers.map((server) => server.close()));
    const observer = await connect(url);
    expect(await deadlocks(observer)).toBe(0);
    await observer.end();
  });

  it('are taken in one order by everybody: many operations at once over two servers meet no deadlock', async () => {
    const url = database?.url ?? '';
    const servers = await Promise.all([openServer(url, { poolMax: 24 }), openServer(url, { poolMax: 24 })]);
    const at = (index: number): TestServer => servers[index % 2] ?? (Promise.reject(new Error('no server')) as never);
    // The order in which a run names its queues, a worker its queues and a client its tasks differ on purpose.
    for (const queue of QUEUES) await registerTask(at(0), { name: queue, concurrentExecLimit: 40 });
    const branches = QUEUES.map((queue, index) => [
      step(queue, `r${index}`, { retryDelaySeconds: 0, startToCloseTimeout: 600, scheduleToStartTimeout: 600 }),
      step(QUEUES[(index + 1) % QUEUES.length] ?? queue, `n${index}`),
    ]);
    await registerWorkflow(
      at(0),
      workflow('locks', [
        { name: 'fork', taskReferenceName: 'fork', type: 'FORK_JOIN', forkTasks: branches },
        { name: 'join', taskReferenceName: 'join', type: 'JOIN', joinOn: ['n0', 'n1', 'n2'] },
      ]),
    );
    const observer = await connect(url);
    const ids: ExecutionId[] = [];
    const held: LeasedTask[] = [];
    const take = (count: number): LeasedTask[] => held.splice(0, count);
    const operations: readonly ((server: TestServer, name: string) => Promise<unknown>)[] = [
      async (server) => ids.push(await startRun(server, 'locks')),
      async (server, name) => {
        const from = pick(name, QUEUES.length);
        const queues = [...QUEUES.slice(from), ...QUEUES.slice(0, from)].slice(0, 1 + pick(`${name}/queues`, 3));
        held.push(...(await leaseFrom(server, queues, { count: 8 })));
      },
      async (server) => {
        const tasks = take(12).toReversed();
        return reportAll(
          server,
          tasks.map((task, index) => reportOf(task, { status: index % 5 === 0 ? 'FAILED' : 'COMPLETED' })),
        );
      },
      (server) => server.evaluator.runOnce(),
      async (_server, name) => {
        const id = ids[pick(name, Math.max(1, ids.length))];
        if (id === undefined) return;
        const session = await connect(url);
        await passDeadlines(session, id);
        await expireLeases(session, id);
        await session.end();
      },
      (server) => server.engine.transaction((tx) => tx.expireLeases(100)),
      (server) => server.engine.transaction((tx) => tx.fireTimers(100)),
      (server) =>
        server.useCases.workers.heartbeat(NAMESPACE, held[0] ?? { taskId: '' as never, leaseToken: '' as never }),
      async (server) => {
        for (const task of take(2)) await server.useCases.workers.release(NAMESPACE, task);
      },
      async (server, name) => {
        const id = ids[pick(name, Math.max(1, ids.length))];
        if (id === undefined) return;
        const actions = ['pause', 'resume', 'retry', 'terminate'] as const;
        await server.useCases.executions[actions[pick(`${name}/action`, actions.length)] ?? 'pause'](
          NAMESPACE,
          id,
          't',
        );
      },
      async (server, name) => {
        const id = ids[pick(name, Math.max(1, ids.length))];
        if (id !== undefined) await server.useCases.executions.decide(NAMESPACE, id);
      },
    ];
    const client = async (index: number): Promise<void> => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const name = `${index}/${round}`;
        await operations[pick(name, operations.length)]?.(at(index), name);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)));
    for (const id of ids) await at(0).useCases.executions.terminate(NAMESPACE, id, 'test');
    expect(await violations(observer, at(0).definitions)).toEqual([]);
    // A session tells of its deadlocks for certain when it ends.
    await Promise.all(servers.map((server) => server.close()));
    expect(await deadlocks(observer)).toBe(0);
    expect(await leftovers(observer)).toEqual([]);
    await observer.end();
    expect(servers.flatMap(({ problems }) => problems)).toEqual([]);
  });
});
