import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addMs } from '../../../src/domain/kernel/brand.ts';
import { ALPHA, newExecution } from '../../contract/given.ts';
import type { OpenHarness } from '../../contract/harness.ts';
import { postgresHarness } from '../../contract/postgres-harness.ts';
import { simulatedHarness } from '../../contract/simulated-harness.ts';
import { Chance } from '../../support/chance.ts';
import { createFakeIds } from '../../support/fake-ids.ts';
import { CALLS, newScene, plain } from './store-calls.ts';

/** More by `RONDO_FIDELITY=20000`; others by `RONDO_SEED=7`. */
const SEQUENCES = Number(process.env.RONDO_FIDELITY ?? 200);
const SEED = Number(process.env.RONDO_SEED ?? 20_261_130);
const CALLS_MADE = 25;
const RUNS = 2;
const PAST_MS = 60_000;
const MS_PER_SEQUENCE_MAX = 2_000;

class RolledBack extends Error {}

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
  const scene = newScene(`queue-${seed}`, runs);
  const startedAt = await open.engine.now();
  const executions = runs.map((executionId) => newExecution(startedAt, { executionId }));
  await open.engine.transaction((tx) => tx.createExecutions(executions));
  const answers: unknown[] = [];
  for (let call = 0; call < CALLS_MADE; call += 1) {
    const names = Array.from({ length: chance.pick([1, 1, 2, 3]) }, () => chance.pick(Object.keys(CALLS)));
    const isUndone = chance.isBelow(0.15);
    const inner = Math.floor(chance.next() * 2 ** 31);
    try {
      // Past, and later with each call: the order of tasks is the same in both, however fast they are.
      const now = addMs(startedAt, call - PAST_MS);
      const answer = await open.engine.transaction(async (tx) => {
        const own = new Chance(inner);
        const all: unknown[] = [];
        for (const name of names) all.push(await CALLS[name]?.(tx, scene, own, now));
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
