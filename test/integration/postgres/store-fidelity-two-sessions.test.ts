import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addMs, type Instant } from '../../../src/domain/kernel/brand.ts';
import type { EngineStore, EngineTx } from '../../../src/ports/engine-store.ts';
import { taskDefinition } from '../../contract/definitions.ts';
import { ALPHA, newExecution } from '../../contract/given.ts';
import type { OpenHarness } from '../../contract/harness.ts';
import { openPostgres } from '../../contract/postgres-harness.ts';
import { simulatedHarness } from '../../contract/simulated-harness.ts';
import { Chance } from '../../support/chance.ts';
import { createFakeIds } from '../../support/fake-ids.ts';
import { CALLS_OF_TWO, newScene, plain, type Scene } from './store-calls.ts';

/** More by `RONDO_FIDELITY=20000`; others by `RONDO_SEED=7`. */
const SEQUENCES = Number(process.env.RONDO_FIDELITY ?? 100);
const SEED = Number(process.env.RONDO_SEED ?? 20_261_130);
const RUNS = 2;
const PAST_MS = 60_000;
const MS_PER_SEQUENCE_MAX = 5_000;
/** Whoever closes a circle finds it after this time, and whoever waited before has looked by then and found none. */
const DEADLOCK_TIMEOUT_MS = 2;
const WAITS_AFTER_MS = 5;

class RolledBack extends Error {}
class RunAgain extends Error {}

type Command = ((tx: EngineTx) => Promise<unknown>) | 'commit' | 'rollback';
type Outcome = Readonly<{ answer: unknown; isOver: boolean }>;

const codeOf = (error: unknown): string => {
  if (error instanceof RunAgain) return 'lost a race';
  if (error instanceof RolledBack) return 'rolled back';
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
};

/** One transaction that does what it is told, command by command. */
class Session {
  isOver = false;
  /** It was told something and has not answered, as far as was looked. */
  isPending = false;
  outcome: Outcome | undefined;
  private readonly told: Command[] = [];
  private hear: () => void = () => undefined;

  constructor(engine: EngineStore) {
    let isFirst = true;
    const work = async (tx: EngineTx): Promise<void> => {
      // The store would run a transaction again that lost a race; here it is over with that.
      if (!isFirst) throw new RunAgain();
      isFirst = false;
      for (;;) {
        const command = await this.next();
        if (command === 'commit') return;
        if (command === 'rollback') throw new RolledBack();
        this.outcome = { answer: plain(await command(tx)), isOver: false };
      }
    };
    engine.transaction(work).then(
      () => this.end('committed'),
      (error: unknown) => this.end(codeOf(error)),
    );
  }

  private end(answer: string): void {
    this.isOver = true;
    this.outcome = { answer, isOver: true };
  }

  private async next(): Promise<Command> {
    while (this.told.length === 0) {
      await new Promise<void>((resolve) => {
        this.hear = resolve;
      });
    }
    return this.told.shift() ?? 'rollback';
  }

  tell(command: Command): void {
    this.isPending = true;
    this.outcome = undefined;
    this.told.push(command);
    this.hear();
  }
}

/** What takes locks that others want comes more often. */
const LOCKING = ['request', 'request', 'pass over one', 'append', 'append', 'arm', 'claim a key'];
const NAMES = [...Object.keys(CALLS_OF_TWO), ...LOCKING, ...LOCKING, ...LOCKING, ...LOCKING, ...LOCKING];

/** A store, and how it is seen there that a session waits for another. */
type Stage = Readonly<{ open: OpenHarness; empty: () => Promise<unknown>; waits: () => Promise<boolean> }>;

const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const simulatedStage = async (): Promise<Stage> => {
  const open = await simulatedHarness.open();
  // Nothing there takes time but waiting.
  const waits = async () => {
    await immediate();
    return true;
  };
  return { open, empty: () => open.reset(), waits };
};

const WAITING = `select count(*)::integer as waiting from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where a.datname = current_database() and not l.granted
    and cardinality(pg_blocking_pids(l.pid)) > 0
    and l.waitstart < clock_timestamp() - interval '${WAITS_AFTER_MS} milliseconds'`;

/** Of few rows that is sooner done than truncating. */
const EMPTY = [
  'decide_queue',
  'task_queue',
  'task_executions',
  'timers',
  'outbox_events',
  'idempotency_keys',
  'workflow_events',
  'workflow_executions',
].map((table) => `delete from ${table}`);

const postgresStage = async (): Promise<Stage> => {
  const open = await openPostgres((client) =>
    client.query(`do $$ begin
      execute format('alter database %I set deadlock_timeout = ''${DEADLOCK_TIMEOUT_MS}ms''', current_database());
    end $$`),
  );
  const waits = async () => (await open.client.query<{ waiting: number }>(WAITING)).rows[0]?.waiting !== 0;
  return { open, empty: () => open.client.query(EMPTY.join('; ')), waits };
};

/** The answer of the session, or that it waits for the other. */
const outcomeOf = async ({ waits }: Stage, session: Session, canWait: boolean): Promise<Outcome | 'waits'> => {
  for (;;) {
    const isWaiting = await waits();
    await immediate();
    if (session.outcome !== undefined) {
      session.isPending = false;
      return session.outcome;
    }
    if (isWaiting && canWait) return 'waits';
  }
};

const furnish = async (scene: Scene, { open }: Stage, chance: Chance, startedAt: Instant): Promise<void> => {
  const executions = scene.runs.map((executionId) => newExecution(startedAt, { executionId }));
  await open.engine.transaction((tx) => tx.createExecutions(executions));
  // Then leases wait for each other too: what is counted is locked.
  const limit = chance.pick([0, 0, 0, 1, 2]);
  await open.definitions.putTask(ALPHA, taskDefinition('charge', { concurrentExecLimit: limit }));
  const calls = [CALLS_OF_TWO.enqueue, CALLS_OF_TWO.enqueue, CALLS_OF_TWO.wait, CALLS_OF_TWO.send];
  for (let call = 0; call < 8; call += 1) {
    const names = Object.keys(CALLS_OF_TWO);
    const made = chance.isBelow(0.6) ? chance.pick(calls) : CALLS_OF_TWO[chance.pick(names)];
    const inner = new Chance(Math.floor(chance.next() * 2 ** 31));
    await open.engine
      .transaction(async (tx) => made?.(tx, scene, inner, addMs(startedAt, call - PAST_MS)))
      .catch(codeOf);
  }
  // Leases may have run out.
  if (chance.isBelow(0.3)) await open.advance(1_000);
};

/** Tells two sessions in turn what to do; whoever waits is told nothing until it has answered. */
const play = async (stage: Stage, seed: number): Promise<readonly unknown[]> => {
  const { open } = stage;
  await stage.empty();
  const chance = new Chance(seed);
  const ids = createFakeIds();
  const scene = newScene(
    `queue-${seed}`,
    Array.from({ length: RUNS }, () => ids.executionId()),
  );
  const startedAt = await open.engine.now();
  await furnish(scene, stage, chance, startedAt);
  const seen: unknown[] = [];
  const names = ['A', 'B'] as const;
  const sessions = { A: new Session(open.engine), B: new Session(open.engine) };
  const left = { A: chance.pick([2, 3, 4]), B: chance.pick([2, 3, 4]) };
  for (let step = 0; !sessions.A.isOver || !sessions.B.isOver; step += 1) {
    const picked = chance.pick(names);
    const inner = new Chance(Math.floor(chance.next() * 2 ** 31));
    const isFree = (name: 'A' | 'B') => !sessions[name].isOver && !sessions[name].isPending;
    const [name, other] = isFree(picked)
      ? ([picked, picked === 'A' ? 'B' : 'A'] as const)
      : ([picked === 'A' ? 'B' : 'A', picked] as const);
    const session = sessions[name];
    const call = inner.pick(NAMES);
    left[name] -= 1;
    const end = inner.isBelow(0.2) ? 'rollback' : 'commit';
    const command: Command =
      left[name] < 0
        ? end
        : async (tx) => CALLS_OF_TWO[call]?.(tx, scene, inner, addMs(startedAt, 100 + step - PAST_MS));
    session.tell(command);
    const isOtherWaiting = sessions[other].isPending;
    const outcome = await outcomeOf(stage, session, !isOtherWaiting);
    seen.push([name, left[name] < 0 ? end : call, outcome]);
    if (!isOtherWaiting) continue;
    const freed = await outcomeOf(stage, sessions[other], !session.isOver);
    if (freed !== 'waits') seen.push([other, 'goes on', freed]);
  }
  return [...seen, ...(await whatIsLeft(stage, scene))];
};

const whatIsLeft = async ({ open }: Stage, { runs }: Scene): Promise<readonly unknown[]> => {
  const left: unknown[] = [];
  for (const id of runs) {
    const row = await open.index.find(ALPHA, id);
    left.push([await open.closedTasks(id), plain(await open.index.openTasks(ALPHA, id)), row?.status]);
  }
  const rest = await open.engine.transaction(async (tx) => {
    const { heads } = await tx.claimEvaluationsOf(runs);
    const outcomes = [...(await tx.readOutcomes(runs))].sort();
    const { evaluated, underLock } = await tx.fireTimers(10);
    const messages = (await tx.claimMessages(10, 1)).map(({ dedupKey }) => dedupKey);
    return [
      heads,
      outcomes,
      await tx.readEvents(new Map(runs.map((id) => [id, 0]))),
      [...evaluated].sort(),
      underLock,
      messages,
    ];
  });
  return [...left, plain(rest)];
};

describe('two sessions of the simulated PostgreSQL', () => {
  let stages: readonly Stage[] = [];

  beforeAll(async () => {
    stages = await Promise.all([postgresStage(), simulatedStage()]);
  });
  afterAll(() => Promise.all(stages.map(({ open }) => open.close())));

  it(
    'wait for each other, fail and answer as those of PostgreSQL do',
    async () => {
      const [real, simulated] = stages;
      if (real === undefined || simulated === undefined) throw new Error('the stores are open while tests run');
      const seen = new Map<string, number>();
      for (let seed = SEED; seed < SEED + SEQUENCES; seed += 1) {
        const [wanted, found] = [await play(real, seed), await play(simulated, seed)];
        expect(found, `seed ${seed}`).toEqual(wanted);
        for (const what of ['waits', 'goes on', 'lost a race', 'rolled back', 'DATABASE_DEFECT']) {
          if (JSON.stringify(wanted).includes(`"${what}"`)) seen.set(what, (seen.get(what) ?? 0) + 1);
        }
      }
      // A campaign in which nobody had waited, or ran into another, would have shown less than it says.
      expect([...seen.keys()].sort()).toEqual(['DATABASE_DEFECT', 'goes on', 'lost a race', 'rolled back', 'waits']);
    },
    60_000 + SEQUENCES * MS_PER_SEQUENCE_MAX,
  );
});
