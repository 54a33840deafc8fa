import fc from 'fast-check';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMemoryStores } from '../../../src/adapters/memory/stores.ts';
import { createSteeringSandbox } from '../../../src/adapters/sandbox/steering-sandbox.ts';
import { createTaskSandbox } from '../../../src/adapters/sandbox/task-sandbox.ts';
import type { Evaluator } from '../../../src/application/evaluate-executions.ts';
import type { UseCases } from '../../../src/application/use-cases.ts';
import { FireTimers, ReclaimLeases } from '../../../src/application/watch-deadlines.ts';
import { compose } from '../../../src/composition/container.ts';
import { TOKENS } from '../../../src/composition/tokens.ts';
import type { WorkflowEvent } from '../../../src/domain/execution/events.ts';
import type { ReportStatus } from '../../../src/domain/execution/statuses.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { LeasedTask } from '../../../src/ports/engine-store.ts';
import type { ExecutionIndex } from '../../../src/ports/execution-index.ts';
import { connect, NAMESPACE, openServer } from '../../support/engine.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { noCalls } from '../../support/outbound.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { startRequest } from '../../support/runs.ts';
import { testSeal } from '../../support/seal.ts';
import { resultOf } from '../../support/workers.ts';
import { step, workflow } from './definitions.ts';

const RUNS = Number(process.env.RONDO_AGREEMENTS ?? 60);
const SEED = Number(process.env.RONDO_SEED ?? 20_261_130);
const COMMANDS_MAX = 25;
const QUEUE = 'agreed';
/** Beyond every deadline of the definition and every lease. */
const LONG_MS = 3_600_000;
const EVALUATIONS_MAX = 100;

const policy = { retryCount: 2, retryDelaySeconds: 0, startToCloseTimeout: 300, scheduleToStartTimeout: 300 };
const definition = workflow(
  QUEUE,
  [
    step(QUEUE, 'first', policy),
    {
      name: 'fork',
      taskReferenceName: 'fork',
      type: 'FORK_JOIN',
      forkTasks: [
        [step(QUEUE, 'left', policy), step(QUEUE, 'left2', { ...policy, timeoutPolicy: 'TIME_OUT_WF' })],
        [step(QUEUE, 'right', { ...policy, optional: true, timeoutPolicy: 'ALERT_ONLY' })],
        [{ name: 'gate', taskReferenceName: 'gate', type: 'WAIT', inputParameters: {} }],
        [{ name: 'pause', taskReferenceName: 'pause', type: 'WAIT', inputParameters: { duration: '10 minutes' } }],
      ],
    },
    { name: 'join', taskReferenceName: 'join', type: 'JOIN', joinOn: ['left2', 'right', 'gate', 'pause'] },
    step(QUEUE, 'last', policy),
  ],
  { timeoutSeconds: 36_000 },
);

/** One engine with its store, and what happened in it under names that do not depend on the store. */
type World = Readonly<{
  useCases: UseCases;
  evaluator: Evaluator;
  index: ExecutionIndex;
  watch(): Promise<void>;
  pass(ms: number): Promise<void>;
  runs: ExecutionId[];
  leases: LeasedTask[];
  answers: string[];
}>;

type Command = Readonly<{ name: string; act: (world: World) => Promise<string> }>;

const codeOf = (answer: { ok: true } | { ok: false; error: { code: string } }): string =>
  answer.ok ? 'ok' : answer.error.code;

const evaluateAll = async ({ evaluator }: World): Promise<void> => {
  for (let round = 0; round < EVALUATIONS_MAX; round += 1) if ((await evaluator.runOnce()) === 0) return;
  throw new Error('evaluations without end');
};

const onRun =
  (index: number, act: (world: World, id: ExecutionId) => Promise<string>): Command['act'] =>
  async (world) => {
    const id = world.runs[index % Math.max(1, world.runs.length)];
    return id === undefined ? 'no run' : act(world, id);
  };

const onLease =
  (index: number, act: (world: World, task: LeasedTask) => Promise<string>): Command['act'] =>
  async (world) => {
    const task = world.leases[index % Math.max(1, world.leases.length)];
    return task === undefined ? 'no lease' : act(world, task);
  };

const start: Command['act'] = async (world) => {
  const started = await world.useCases.executions.start(NAMESPACE, startRequest(QUEUE));
  if (started.ok) world.runs.push(started.value.executionId);
  return codeOf(started);
};

const lease: Command['act'] = async (world) => {
  const signal = new AbortController().signal;
  const call = { namespace: NAMESPACE, queues: [QUEUE], workerId: 'w', count: 1, waitMs: 0, signal };
  const leased = await world.useCases.workers.lease(call);
  if (!leased.ok) return leased.error.code;
  world.leases.push(...leased.value);
  // Which of equal tasks comes first is up to the store by their ids, which differ; the run tells enough.
  return `leased ${leased.value.length}`;
};

const index = fc.nat({ max: 99 });
const statuses: readonly ReportStatus[] = [
  'COMPLETED',
  'COMPLETED',
  'COMPLETED',
  'COMPLETED',
  'FAILED',
  'FAILED_WITH_TERMINAL_ERROR',
];

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ name: 'lease', act: lease }) },
  {
    weight: 6,
    arbitrary: fc.tuple(index, fc.constantFrom(...statuses)).map(([at, status]) => ({
      name: `report ${at} ${status}`,
      act: onLease(at, async ({ useCases }, { taskId, leaseToken }) => {
        const [answer] = await useCases.workers.report(NAMESPACE, [{ taskId, leaseToken, status, output: { at } }]);
        return answer === undefined ? 'no answer' : resultOf(answer);
      }),
    })),
  },
  {
    weight: 1,
    arbitrary: index.map((at) => ({
      name: `heartbeat ${at}`,
      act: onLease(at, async ({ useCases }, task) => codeOf(await useCases.workers.heartbeat(NAMESPACE, task))),
    })),
  },
  {
    weight: 1,
    arbitrary: index.map((at) => ({
      name: `release ${at}`,
      act: onLease(at, async ({ useCases }, task) => codeOf(await useCases.workers.release(NAMESPACE, task))),
    })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(index, fc.constantFrom('pause', 'resume', 'terminate', 'retry', 'retry'))
      .map(([at, action]) => ({
        name: `${action} ${at}`,
        act: onRun(at, async ({ useCases }, id) =>
          codeOf(await useCases.executions[action as 'pause'](NAMESPACE, id, 't')),
        ),
      })),
  },
  {
    weight: 2,
    arbitrary: index.map((at) => ({
      name: `signal ${at}`,
      act: onRun(at, async ({ useCases }, id) => {
        const call = { ref: 'gate', status: 'COMPLETED' as const, output: { at } };
        const signalled = await useCases.executions.signal(NAMESPACE, id, call, 't');
        return signalled.ok ? `delivered ${signalled.value.delivered}` : signalled.error.code;
      }),
    })),
  },
  {
    weight: 1,
    arbitrary: index.map((at) => ({
      name: `decide ${at}`,
      act: onRun(at, async ({ useCases }, id) => {
        const decided = await useCases.executions.decide(NAMESPACE, id);
        return decided.ok ? `repaired ${decided.value.repaired}` : decided.error.code;
      }),
    })),
  },
  {
    weight: 2,
    arbitrary: fc.constant({
      name: 'an hour passes',
      act: async (world: World) => {
        await world.pass(LONG_MS);
        await world.watch();
        return 'passed';
      },
    }),
  },
  {
    weight: 6,
    arbitrary: fc.constant({
      name: 'pass',
      act: async (world: World) => {
        await evaluateAll(world);
        return 'evaluated';
      },
    }),
  },
);

const factOf = (event: WorkflowEvent): string => {
  const { type, ref, iteration, attempt, status, deadline, disposition, output } = event as Record<string, unknown>;
  const kind = (disposition as { kind?: string } | undefined)?.kind;
  return JSON.stringify([type, ref, iteration, attempt, status, deadline, kind, output]);
};

const unexpected = (_id: ExecutionId, error: unknown): never => {
  throw error;
};

/** What happened, without ids and instants. */
const snapshot = async (world: World): Promise<unknown> => {
  const runs = await Promise.all(
    world.runs.map(async (id) => {
      const row = await world.index.find(NAMESPACE, id);
      const log = await world.index.history(NAMESPACE, id, 0, 10_000);
      const open = await world.index.openTasks(NAMESPACE, id);
      return {
        status: row?.status,
        output: row?.output,
        reason: row?.reason,
        facts: log.map(({ seq, event }) => `${seq} ${factOf(event)}`),
        open: open.map((task) => `${task.ref}/${task.attempt} ${task.leased} ${task.hasOutcome}`).toSorted(),
      };
    }),
  );
  return { answers: world.answers, runs };
};

describe('memory and PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>> | undefined;
  const opened: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => {
    for (const close of opened.toReversed()) await close();
    await database?.drop();
  });

  const postgresWorld = async (): Promise<() => Promise<World>> => {
    const url = database?.url ?? '';
    const server = await openServer(url);
    const observer = await connect(url);
    opened.push(
      () => server.close(),
      () => observer.end(),
    );
    const timers = new FireTimers(server.engine, server.evaluator, server.wake, unexpected);
    const leases = new ReclaimLeases(server.engine, server.wake);
    const shift = async (ms: number): Promise<void> => {
      const by = `interval '${ms} milliseconds'`;
      await observer.query(
        `update task_queue set visible_at = visible_at - ${by}, lease_expires_at = lease_expires_at - ${by};
         update timers set fire_at = fire_at - ${by}; update decide_queue set due_at = due_at - ${by}`,
      );
    };
    return async () => {
      await observer.query(`truncate workflow_executions, workflow_events, task_executions, decide_queue, task_queue,
        timers, outbox_events, workflow_definitions, definition_bundles`);
      return {
        ...server,
        watch: async () => {
          await timers.runOnce();
          await leases.runOnce();
        },
        pass: shift,
        runs: [],
        leases: [],
        answers: [],
      };
    };
  };

  const memoryWorld = async (): Promise<() => Promise<World>> => {
    const steering = await createSteeringSandbox();
    const sandbox = createTaskSandbox({ workersMax: 1 });
    opened.push(() => sandbox.close());
    return async () => {
      const clock = createFakeClock();
      const stores = createMemoryStores({ clock });
      const log = pino({ level: 'silent' });
      const container = compose({
        ...stores,
        steering,
        sandbox,
        seal: testSeal,
        outbound: noCalls,
        log,
        clock,
        callbackKey: 'key',
        foldCacheBytesMax: 1_000_000,
        stepsOnReport: true,
        circuitBreakers: false,
      });
      const evaluator = container.resolve(TOKENS.evaluator);
      const timers = new FireTimers(stores.engine, evaluator, stores.wake, unexpected);
      const leases = new ReclaimLeases(stores.engine, stores.wake);
      return {
        useCases: container.resolve(TOKENS.useCases),
        evaluator,
        index: stores.index,
        watch: async () => {
          await timers.runOnce();
          await leases.runOnce();
        },
        pass: async (ms) => clock.advance(ms),
        runs: [],
        leases: [],
        answers: [],
      };
    };
  };

  it(
    'make the same of the same commands: the same answers, histories, states and open attempts',
    async () => {
      const makers = [await postgresWorld(), await memoryWorld()];
      const statusesSeen = new Set<string | undefined>();
      await fc.assert(
        fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: COMMANDS_MAX }), async (commands) => {
          const snapshots: unknown[] = [];
          for (const make of makers) {
            const world = await make();
            const registered = await world.useCases.definitions.registerWorkflow(NAMESPACE, definition, 'v1', true);
            if (!registered.ok) throw new Error(JSON.stringify(registered.error));
            // A budget is over all runs of a store, and one of the two has those of the worlds before.
            await world.useCases.definitions.registerTask(NAMESPACE, { name: QUEUE, retryBudget: 1 }, 'v1');
            // One run: of several, which one's tasks come first depends on their ids.
            await start(world);
            for (const { name, act } of commands) world.answers.push(`${name}: ${await act(world)}`);
            await evaluateAll(world);
            snapshots.push(await snapshot(world));
            for (const id of world.runs) statusesSeen.add((await world.index.find(NAMESPACE, id))?.status);
          }
          expect(snapshots[1]).toEqual(snapshots[0]);
        }),
        { numRuns: RUNS, seed: SEED },
      );
      expect(statusesSeen.size).toBeGreaterThan(2);
    },
    60_000 + 1_000 * RUNS,
  );
});
