import { describe, expect, it } from 'vitest';
import type { ExecutionState } from '../../../src/domain/execution/state.ts';
import { dynamicFork, fork, join, loop, loopOverItems, noop, simple, switchOn } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const UNCHECKED = { checks: false };

/** Everything that a state holds entries in, except outputs that the definition asks to keep. */
const sizeOf = (state: ExecutionState): number =>
  state.tasks.size + state.latest.size + state.dynamicNodes.size + state.watchers.size + state.due.seqs.size;

/** Counts how often a map is asked or walked while `work` runs. */
const lookUps = (state: ExecutionState, work: () => void): number => {
  let count = 0;
  const { get, has, values } = state.tasks;
  state.tasks.get = (key) => {
    count += 1;
    return get.call(state.tasks, key);
  };
  state.tasks.has = (key) => {
    count += 1;
    return has.call(state.tasks, key);
  };
  state.tasks.values = () => {
    count += state.tasks.size;
    return values.call(state.tasks);
  };
  work();
  Object.assign(state.tasks, { get, has, values });
  return count;
};

describe('a loop of ten thousand iterations', () => {
  it('costs in its last iteration what it cost in its second, in space and in work', () => {
    const body = [
      fork('f', [[simple('a')], [switchOn('s', '${l.output.iteration}', {}, [noop('n')])]]),
      join('j', ['a', 'n']),
    ];
    const run = new Run({ tasks: [loop('l', 10_000, body, { keepLastN: 1 })] }, UNCHECKED);
    const cost: Record<number, readonly [number, number]> = {};
    for (let iteration = 1; iteration <= 10_000; iteration += 1) {
      const work = lookUps(run.state, () => void run.complete(`a__${iteration}`));
      cost[iteration] = [work, sizeOf(run.state)];
    }
    expect(run.status).toBe('COMPLETED');
    expect(cost[9_999]).toEqual(cost[2]);
  });

  it('decides all of them within bounded decisions when they need no outside work', () => {
    const run = new Run({ tasks: [loop('l', 10_000, [noop('n')])] }, UNCHECKED);
    expect([run.status, run.log.length]).toEqual(['COMPLETED', 20_003]);
  });

  it('leaves its last iteration behind and no other, in loops inside of loops too', () => {
    const run = new Run(
      { tasks: [loop('l', 300, [loop('m', 3, [noop('n')])], { keepLastN: 1 }), simple('a')] },
      UNCHECKED,
    );
    expect([...run.state.tasks.keys()]).toEqual(['l', 'm__300', 'n__300__3', 'a']);
  });
});

describe('a fork of ten thousand branches', () => {
  const BRANCHES = 10_000;

  it('opens, and closes branch by branch, at a cost that does not grow with its branches', () => {
    const tasks = Array.from({ length: BRANCHES }, (_, index) => simple(`b${index}`));
    const run = new Run(
      { tasks: [dynamicFork('d', '${workflow.input.tasks}'), join('j')] },
      { input: { tasks }, ...UNCHECKED },
    );
    expect(run.openTasks.size).toBe(BRANCHES);
    expect(lookUps(run.state, () => void run.complete('b0'))).toBeLessThan(30);
    expect(lookUps(run.state, () => void run.complete(`b${BRANCHES - 1}`))).toBeLessThan(30);
    const outcomes = [...run.openTasks.values()].map(({ ref, iteration, attempt }) => ({
      type: 'SettleTask' as const,
      outcome: { ref, iteration, attempt, status: 'COMPLETED' as const, output: {} },
    }));
    const all = lookUps(run.state, () => run.requestAll(outcomes));
    expect(run.status).toBe('COMPLETED');
    expect(all).toBeLessThan(30 * BRANCHES);
  });

  it('also when a join names every task of it', () => {
    const names = Array.from({ length: 3_000 }, (_, index) => `b${index}`);
    const run = new Run(
      {
        tasks: [
          fork(
            'f',
            names.map((name) => [simple(name)]),
          ),
          join('j', names),
        ],
      },
      UNCHECKED,
    );
    const outcomes = names.map((ref) => ({
      type: 'SettleTask' as const,
      outcome: { ref, iteration: 0, attempt: 1, status: 'COMPLETED' as const, output: {} },
    }));
    const all = lookUps(run.state, () => run.requestAll(outcomes));
    expect([run.status, run.state.watchers.size]).toEqual(['COMPLETED', 0]);
    expect(all).toBeLessThan(40 * names.length);
  });
});

describe('a run of thirty thousand tasks', () => {
  const BRANCHES = 10_000;
  const ROUNDS = [1, 2, 3];

  it('by dynamic forks in a loop completes, and works as much in its last fork as in its first', () => {
    const tasks = Array.from({ length: BRANCHES }, (_, index) => simple(`b${index}`));
    const body = [dynamicFork('d', '${workflow.input.tasks}'), join('j')];
    const run = new Run(
      { tasks: [loopOverItems('l', ROUNDS, body, { keepLastN: 1 })] },
      { input: { tasks }, ...UNCHECKED },
    );
    const work = ROUNDS.map(() => {
      const outcomes = [...run.openTasks.values()].map(({ ref, iteration, attempt }) => ({
        type: 'SettleTask' as const,
        outcome: { ref, iteration, attempt, status: 'COMPLETED' as const, output: { ref } },
      }));
      expect(outcomes).toHaveLength(BRANCHES);
      return lookUps(run.state, () => run.requestAll(outcomes));
    });
    expect([run.status, run.eventsOf('TaskClosed').length]).toEqual(['COMPLETED', 3 * BRANCHES]);
    expect(work[2]).toBeLessThanOrEqual(work[0] ?? 0);
    expect(run.state.tasks.size).toBe(1);
  });

  it('by a loop of ten thousand iterations over branches of two completes with a state that does not grow', () => {
    const body = [fork('f', [[simple('a'), simple('b')], [simple('c')]]), join('j')];
    const run = new Run({ tasks: [loop('l', 10_000, body, { keepLastN: 1 })] }, UNCHECKED);
    const sizes = new Set<number>();
    for (let iteration = 1; iteration <= 10_000; iteration += 1) {
      run.complete(`a__${iteration}`).complete(`c__${iteration}`).complete(`b__${iteration}`);
      sizes.add(sizeOf(run.state));
    }
    expect([run.status, run.eventsOf('TaskClosed').length]).toEqual(['COMPLETED', 30_000]);
    expect(sizes.size).toBeLessThanOrEqual(3);
  });
});
