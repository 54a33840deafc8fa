import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  addMs,
  type ExecutionId,
  type Instant,
  type LeaseToken,
  type TaskId,
} from '../../../src/domain/kernel/brand.ts';
import type { EngineTx } from '../../../src/ports/engine-store.ts';
import { ALPHA, newExecution, newTask, owed, pausedEvent } from '../../contract/given.ts';
import type { OpenHarness } from '../../contract/harness.ts';
import { postgresHarness } from '../../contract/postgres-harness.ts';
import { simulatedHarness } from '../../contract/simulated-harness.ts';
import { Chance } from '../../support/chance.ts';
import { createFakeIds } from '../../support/fake-ids.ts';

/** More by `RONDO_FIDELITY=20000`; others by `RONDO_SEED=7`. */
const SEQUENCES = Number(process.env.RONDO_FIDELITY ?? 200);
const SEED = Number(process.env.RONDO_SEED ?? 20_261_130);
const CALLS = 25;
const RUNS = 2;
const PAST_MS = 60_000;
const MS_PER_SEQUENCE_MAX = 2_000;

class RolledBack extends Error {}

/** What one sequence works on, with ids that count: both stores are told the very same things. */
type Scene = Readonly<{
  open: OpenHarness;
  runs: readonly ExecutionId[];
  tokens: LeaseToken[];
  taskIds: TaskId[];
  seqs: Map<ExecutionId, number>;
}>;

type Call = (tx: EngineTx, scene: Scene, chance: Chance, now: Instant) => Promise<unknown>;

/** Instants differ from store to store; whether there is one does not. */
const plain = (value: unknown): unknown => {
  if (value instanceof Map) return [...value].map(plain);
  if (value instanceof Set) return [...value].map(plain).sort();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null)
    return typeof value === 'number' && value > 1e12 ? 'an instant' : value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
};

const nextSeq = ({ seqs }: Scene, id: ExecutionId): number => {
  const seq = (seqs.get(id) ?? 0) + 1;
  seqs.set(id, seq);
  return seq;
};

const CALLS_MADE: Readonly<Record<string, Call>> = {
  enqueue: async (tx, scene, chance, now) => {
    const id = chance.pick(scene.runs);
    const seq = nextSeq(scene, id);
    const attempt = chance.pick([1, 1, 2]);
    const task = newTask(id, now, seq, {
      ref: chance.pick(['a', 'b', 'c']),
      attempt,
      startToCloseMs: chance.pick([0, 500]),
    });
    scene.taskIds.push(task.taskId);
    return tx.enqueueTasks([owed(id, task)]);
  },
  lease: async (tx, scene, chance) => {
    const ids = Array.from({ length: 2 }, (_, index) => token(scene.tokens.length + index));
    scene.tokens.push(...ids);
    const request = { namespace: ALPHA, queues: ['charge'], workerId: 'w', count: chance.pick([1, 2]), tokens: ids };
    return (await tx.leaseTasks({ ...request, leaseMs: chance.pick([200, 60_000]) })).map(({ taskId, leaseToken }) => [
      taskId,
      leaseToken,
    ]);
  },
  settle: async (tx, { taskIds, tokens }, chance) =>
    taskIds.length === 0 || tokens.length === 0
      ? 'nothing'
      : tx.settleTasks(ALPHA, [
          {
            taskId: chance.pick(taskIds),
            leaseToken: chance.pick(tokens),
            status: chance.pick(['COMPLETED', 'FAILED'] as const),
            output: { n: chance.pick([1, 2]) },
          },
        ]),
  heartbeat: async (tx, { taskIds, tokens }, chance) =>
    taskIds.length === 0 || tokens.length === 0
      ? 'nothing'
      : tx.heartbeat(ALPHA, [{ taskId: chance.pick(taskIds), leaseToken: chance.pick(tokens), leaseMs: 60_000 }]),
  release: async (tx, { taskIds, tokens }, chance) =>
    taskIds.length === 0 || tokens.length === 0
      ? 'nothing'
      : tx.releaseLeases(ALPHA, [{ taskId: chance.pick(taskIds), leaseToken: chance.pick(tokens) }]),
  pass: async (tx, { runs }) => {
    const { heads } = await tx.claimEvaluations(10);
    const outcomes = await tx.readOutcomes(runs);
    return [heads.map(({ executionId }) => executionId), [...outcomes].sort()];
  },
  'pass over one': async (tx, { runs }, chance) => {
    const id = chance.pick(runs);
    const { heads } = await tx.claimEvaluationsOf([id]);
    return [heads, await tx.readOutcomes([id]), await tx.openTaskIds(id)];
  },
  request: (tx, { runs }, chance) => tx.requestEvaluations([chance.pick(runs)]),
  park: (tx, { runs }, chance) =>
    tx.parkEvaluation({
      executionId: chance.pick(runs),
      attempts: 1,
      retryAfterMs: chance.pick([0, 500]),
      reason: 'it broke',
    }),
  append: async (tx, scene, chance, now) => {
    const id = chance.pick(scene.runs);
    // Now and then at a place that is taken.
    const seq = chance.isBelow(0.2) ? 1 : nextSeq(scene, id);
    return tx.appendEvents([owed(id, pausedEvent(seq, now))]);
  },
  read: (tx, { runs }) => tx.readEvents(new Map(runs.map((id) => [id, 0]))),
  expire: (tx) => tx.expireLeases(10),
  fire: async (tx) => {
    const { evaluated, underLock } = await tx.fireTimers(10);
    return [[...evaluated].sort(), underLock];
  },
  end: (tx, { runs }, chance, now) => tx.cancelOpenWork([{ executionId: chance.pick(runs), at: now }]),
};

const token = (number: number): LeaseToken =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}` as LeaseToken;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error
    ? String(error.code)
    : error instanceof RolledBack
      ? 'rolled back'
      : String(error);

/** One sequence on one store: what every call answered, and what is left. */
const play = async (open: OpenHarness, seed: number): Promise<readonly unknown[]> => {
  await open.reset();
  const chance = new Chance(seed);
  const ids = createFakeIds();
  const runs = Array.from({ length: RUNS }, () => ids.executionId());
  const scene: Scene = { open, runs, tokens: [], taskIds: [], seqs: new Map() };
  const startedAt = await open.engine.now();
  const executions = runs.map((executionId) => newExecution(startedAt, { executionId }));
  await open.engine.transaction((tx) => tx.createExecutions(executions));
  const answers: unknown[] = [];
  for (let call = 0; call < CALLS; call += 1) {
    const names = Array.from({ length: chance.pick([1, 1, 2, 3]) }, () => chance.pick(Object.keys(CALLS_MADE)));
    const isUndone = chance.isBelow(0.15);
    const inner = Math.floor(chance.next() * 2 ** 31);
    try {
      // Past, and later with each call: the order of tasks is the same in both, however fast they are.
      const now = addMs(startedAt, call - PAST_MS);
      const answer = await open.engine.transaction(async (tx) => {
        const own = new Chance(inner);
        const all: unknown[] = [];
        for (const name of names) all.push(await CALLS_MADE[name]?.(tx, scene, own, now));
        if (isUndone) throw new RolledBack();
        return all;
      });
      answers.push([names, plain(answer)]);
    } catch (error) {
      answers.push([names, codeOf(error)]);
    }
    if (chance.isBelow(0.2)) await open.advance(1_000);
  }
  for (const id of runs) answers.push([await open.closedTasks(id), plain(await open.index.openTasks(ALPHA, id))]);
  return answers;
};

describe('the simulated PostgreSQL', () => {
  let stores: readonly OpenHarness[] = [];

  beforeAll(async () => {
    stores = await Promise.all([postgresHarness.open(), simulatedHarness.open()]);
  });
  afterAll(() => Promise.all(stores.map((store) => store.close())));

  it(
    'answers any sequence of calls as PostgreSQL does',
    async () => {
      const [real, simulated] = stores;
      if (real === undefined || simulated === undefined) throw new Error('the stores are open while tests run');
      const seen = new Set<string>();
      for (let seed = SEED; seed < SEED + SEQUENCES; seed += 1) {
        const [wanted, found] = [await play(real, seed), await play(simulated, seed)];
        expect(found, `seed ${seed}`).toEqual(wanted);
        for (const what of ['DATABASE_DEFECT', 'rolled back', 'settled', 'extended']) {
          if (JSON.stringify(wanted).includes(`"${what}"`)) seen.add(what);
        }
      }
      // A campaign in which nothing was taken or refused would have shown less than it says.
      expect([...seen].sort()).toEqual(['DATABASE_DEFECT', 'extended', 'rolled back', 'settled']);
    },
    60_000 + SEQUENCES * MS_PER_SEQUENCE_MAX,
  );
});
