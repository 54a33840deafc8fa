import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { ReportStatus } from '../../../src/domain/execution/statuses.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { connect, NAMESPACE, type TestServer, useCluster } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { ledgerViolations, leftovers, readRuns, rewrittenHistory, violations } from '../../support/invariants.ts';
import { registerWorkflow, startRequest } from '../../support/runs.ts';
import { createLedger, type Ledger, leaseFrom, reportOf, startWorker } from '../../support/workers.ts';
import { step, workflow } from './definitions.ts';
import { expireLeases, passDeadlines } from './given.ts';

/** More by `RONDO_INTERLEAVINGS=1000`; others by `RONDO_SEED=7`. A failure names seed and path. */
const RUNS = Number(process.env.RONDO_INTERLEAVINGS ?? 30);
const SEED = Number(process.env.RONDO_SEED ?? 20_261_130);

const CLIENTS = 3;
const COMMANDS_MAX = 14;
const QUEUE = 'interleaved';
const QUIET_MS_MAX = 10_000;
const TEST_MS_MAX = 30_000 + 2_000 * RUNS;

const policy = { retryCount: 2, retryDelaySeconds: 0, startToCloseTimeout: 300, scheduleToStartTimeout: 300 };

/** Branches, retries, deadlines, a wait for a signal, a deadline of the run: everything the commands below can touch. */
const definition = workflow(
  QUEUE,
  [
    step(QUEUE, 'first', policy),
    {
      name: 'fork',
      taskReferenceName: 'fork',
      type: 'FORK_JOIN',
      forkTasks: [
        [step(QUEUE, 'left', policy), step(QUEUE, 'left2', policy)],
        [step(QUEUE, 'right', { ...policy, optional: true })],
        [{ name: 'gate', taskReferenceName: 'gate', type: 'WAIT', inputParameters: {} }],
      ],
    },
    { name: 'join', taskReferenceName: 'join', type: 'JOIN', joinOn: ['left2', 'right', 'gate'] },
    step(QUEUE, 'last', policy),
  ],
  { timeoutSeconds: 900 },
);

type Client = Readonly<{
  server: TestServer;
  session: pg.Client;
  runs: ExecutionId[];
  ledger: Ledger;
}>;

type Act = (client: Client) => Promise<void>;
type Command = Readonly<{ name: string; act: Act; [fc.toStringMethod]: () => string }>;

/** A failure shows the names alone. */
const named = (name: string, act: Act): Command => ({ name, act, [fc.toStringMethod]: () => name });

const runAt = ({ runs }: Client, index: number): ExecutionId | undefined => runs[index % Math.max(1, runs.length)];

const onRun =
  (index: number, act: (client: Client, id: ExecutionId) => Promise<unknown>): Act =>
  async (client) => {
    const id = runAt(client, index);
    if (id !== undefined) await act(client, id);
  };

const start: Act = async ({ server, runs }) => {
  const started = await server.useCases.executions.start(NAMESPACE, startRequest(QUEUE));
  if (started.ok) runs.push(started.value.executionId);
};

const lease = async ({ server, ledger }: Client, count: number): Promise<void> => {
  ledger.leases.push(...(await leaseFrom(server, [QUEUE], { count })));
};

/** Reports any lease that was ever taken, in time or not, once or again: what the answer was goes into the ledger. */
const report = async ({ server, ledger }: Client, index: number, status: ReportStatus): Promise<void> => {
  const task = ledger.leases[index % Math.max(1, ledger.leases.length)];
  if (task === undefined) return;
  const given = reportOf(task, { status, output: { by: index } });
  const [answer] = await server.useCases.workers.report(NAMESPACE, [given]);
  if (answer !== undefined) ledger.reports.push({ report: given, answer });
};

const heartbeat = async ({ server, ledger }: Client, index: number): Promise<void> => {
  const task = ledger.leases[index % Math.max(1, ledger.leases.length)];
  if (task !== undefined) await server.useCases.workers.heartbeat(NAMESPACE, task);
};

const number = fc.nat({ max: 999 });

const ACTIONS = ['pause', 'resume', 'terminate', 'retry', 'resume', 'retry'] as const;

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(named('start', start)) },
  {
    weight: 4,
    arbitrary: fc.integer({ min: 1, max: 4 }).map((count) => named(`lease ${count}`, (client) => lease(client, count))),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        number,
        fc.constantFrom<ReportStatus[]>('COMPLETED', 'COMPLETED', 'COMPLETED', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR'),
      )
      .map(([index, status]) => named(`report ${index} ${status}`, (client) => report(client, index, status))),
  },
  { weight: 1, arbitrary: number.map((index) => named(`heartbeat ${index}`, (client) => heartbeat(client, index))) },
  {
    weight: 4,
    arbitrary: fc.tuple(number, fc.constantFrom(...ACTIONS)).map(([index, action]) =>
      named(
        `${action} ${index}`,
        onRun(index, ({ server }, id) => server.useCases.executions[action](NAMESPACE, id, 'test')),
      ),
    ),
  },
  {
    weight: 2,
    arbitrary: number.map((index) =>
      named(
        `signal ${index}`,
        onRun(index, ({ server }, id) =>
          server.useCases.executions.signal(NAMESPACE, id, { ref: 'gate', status: 'COMPLETED', output: {} }, 'test'),
        ),
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: number.map((index) =>
      named(
        `deadlines ${index}`,
        onRun(index, ({ session }, id) => passDeadlines(session, id)),
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: number.map((index) =>
      named(
        `expire ${index}`,
        onRun(index, ({ session }, id) => expireLeases(session, id)),
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: number.map((index) =>
      named(
        `decide ${index}`,
        onRun(index, ({ server }, id) => server.useCases.executions.decide(NAMESPACE, id)),
      ),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constant(
      named('pass', async ({ server }) => {
        await server.evaluator.runOnce();
      }),
    ),
  },
);

const program = fc.array(fc.array(command, { maxLength: COMMANDS_MAX, minLength: 3 }), {
  minLength: CLIENTS,
  maxLength: CLIENTS,
});

describe('any interleaving of three clients over two servers', () => {
  const { at, cluster } = useCluster({ poolMax: 16 }, { poolMax: 16 });

  /** Deadlines were moved behind the back of the loops, which sleep by what they knew. */
  const wakeAll = (): void => {
    for (const { wake } of cluster().servers) wake.publish(['timers', 'evaluations']);
  };

  /** After the commands all faults are over: whatever is still open is resumed, signalled and worked off. */
  const heal = async (runs: readonly ExecutionId[], ledger: Ledger): Promise<void> => {
    const workers = [0, 1].map((server) => startWorker(at(server), [QUEUE], { ledger, waitMs: 30 }));
    const isOver = async () => {
      for (const id of runs) {
        const row = await at(0).index.find(NAMESPACE, id);
        if (row === undefined) throw new Error(`an acknowledged start is gone: ${id}`);
        if (row.endedAt !== undefined) continue;
        if (row.status === 'PAUSED') await at(0).useCases.executions.resume(NAMESPACE, id, 'heal');
        const gate = { ref: 'gate', status: 'COMPLETED' as const, output: {} };
        const { rows } = await cluster().observer.query(
          `select from task_queue where workflow_id = $1 and ref = 'gate' and outcome is null`,
          [id],
        );
        if (rows.length > 0) await at(1).useCases.executions.signal(NAMESPACE, id, gate, 'heal');
        // Leases of the commands that nobody reported any more.
        await expireLeases(cluster().observer, id);
        wakeAll();
        return false;
      }
      return true;
    };
    await eventually('every run has ended', isOver);
    await Promise.all(workers.map((worker) => worker.stop()));
  };

  /** The loops go on, so a session of theirs may be in a transaction at any one moment. */
  const whenNothingIsLeft = async (): Promise<void> => {
    let left: readonly string[] = [];
    const isDone = async () => {
      left = await leftovers(cluster().observer);
      return left.length === 0;
    };
    await eventually('nothing is left', isDone, QUIET_MS_MAX).catch(() => expect(left).toEqual([]));
  };

  it(
    'keeps every invariant, and every run ends once the trouble is over',
    async () => {
      await registerWorkflow(at(0), definition);
      const sessions = await Promise.all(Array.from({ length: CLIENTS }, () => connect(cluster().url)));
      const seen = { accepted: 0, refused: 0 };
      for (const server of cluster().servers) server.startLoops('evaluate', 'deadlines');
      await fc.assert(
        fc.asyncProperty(program, async (programs) => {
          const ledger = createLedger();
          const runs: ExecutionId[] = [];
          await cluster().observer.query('truncate workflow_executions, workflow_events, task_executions');
          await start({ server: at(0), session: cluster().observer, runs, ledger });
          await Promise.all(
            programs.map(async (commands, index) => {
              const session = sessions[index] ?? cluster().observer;
              for (const { act } of commands) {
                await act({ server: at(index % 2), session, runs, ledger });
                wakeAll();
              }
            }),
          );
          const middle = await readRuns(cluster().observer);
          await heal(runs, ledger);
          await whenNothingIsLeft();
          const after = await readRuns(cluster().observer);
          expect(rewrittenHistory(middle, after)).toEqual([]);
          expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
          expect(ledgerViolations(ledger, after)).toEqual([]);
          expect(after.map(({ id }) => id).toSorted()).toEqual(runs.toSorted());
          for (const { answer } of ledger.reports) seen[answer.result.ok ? 'accepted' : 'refused'] += 1;
        }),
        { numRuns: RUNS, seed: SEED, endOnFailure: true },
      );
      // A campaign in which no report was refused, or none accepted, would have shown nothing.
      expect(seen.accepted).toBeGreaterThan(RUNS);
      expect(seen.refused).toBeGreaterThan(0);
      await Promise.all(cluster().servers.map((server) => server.stopLoops()));
      await Promise.all(sessions.map((session) => session.end()));
      expect(cluster().servers.flatMap(({ problems }) => problems)).toEqual([]);
    },
    TEST_MS_MAX,
  );
});
