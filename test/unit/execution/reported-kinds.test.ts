import { describe, expect, it } from 'vitest';
import { keyOf } from '../../../src/domain/execution/task-key.ts';
import {
  dynamicFork,
  fork,
  join,
  loop,
  noop,
  type Step,
  simple,
  switchOn,
  terminate,
  wait,
} from '../../support/builders.ts';
import { Chance } from '../../support/chance.ts';
import { Run, type RunOptions } from '../../support/drive.ts';

/** Orders in which the tasks of a run may end; each is drawn from its number. */
const ORDERS = 40;
/** Long runs are checked step by step in a few of the orders only. */
const checked = (seed: number): RunOptions => ({ checks: seed % 20 === 0 });
const YEAR_MS = 365 * 86_400_000;

/** Completes one open task after the other, whichever chance picks. */
const finishInAnyOrder = (run: Run, seed: number): Run => {
  const chance = new Chance(seed);
  while (run.openTasks.size > 0) run.complete(keyOf(chance.pick([...run.openTasks.values()])));
  return run;
};

const times = (run: Run, ref: string): number =>
  run.eventsOf('TaskScheduled').filter((event) => keyOf(event) === ref).length;

describe('kinds of faults that were reported of other engines: a join', () => {
  it.each([{}, { joinMode: 'SYNC' }, { joinMode: 'ASYNC' }])(
    'closes in the very decision in which its last branch ends, with %j, and the next task is open',
    (fields) => {
      const run = new Run({
        tasks: [
          fork('f', [
            [simple('a'), simple('a2')],
            [wait('w', { duration: '1 hour' }), simple('b')],
          ]),
          join('j', [], fields),
          simple('z'),
        ],
      });
      run.complete('a').complete('a2').advance(3_600_000).complete('b');
      expect(run.open()).toEqual(['z']);
      expect(run.seen('j').endedAt).toBe(run.seen('b').endedAt);
    },
  );

  it('has no deadline of its own, however long its branches take', () => {
    const run = new Run({ tasks: [fork('f', [[wait('w'), noop('n')], [noop('m')]]), join('j')], door: 'conductor' });
    run.advance(YEAR_MS);
    expect([run.status, run.seen('j').status, run.timers.size]).toEqual(['RUNNING', 'IN_PROGRESS', 0]);
    run.complete('w');
    expect(run.status).toBe('COMPLETED');
  });

  it('without names waits for every branch, be the fork written out or given by data', () => {
    const branches = [simple('a'), simple('b')];
    const forks: readonly Step[] = [
      fork(
        'f',
        branches.map((task) => [task]),
      ),
      dynamicFork('f', branches),
    ];
    for (const step of forks) {
      const run = new Run({ tasks: [step, join('j', [])] });
      run.complete('a');
      expect([run.status, run.seen('j').status]).toEqual(['RUNNING', 'IN_PROGRESS']);
      run.complete('b');
      expect(run.status).toBe('COMPLETED');
    }
  });

  it.each(['one', 'none', ''])(
    'after a switch in a branch that goes the way %j opens once, and each task ran once',
    (way) => {
      const chooser = (ref: string): Step =>
        switchOn(ref, way, { one: [simple(`${ref}1`), simple(`${ref}2`)] }, [simple(`${ref}d`), simple(`${ref}e`)]);
      for (let seed = 0; seed < ORDERS; seed += 1) {
        const run = new Run({
          tasks: [
            fork('f', [
              [chooser('s'), simple('p')],
              [simple('q'), chooser('t')],
            ]),
            join('j'),
            simple('z'),
          ],
        });
        finishInAnyOrder(run, seed);
        expect(run.status).toBe('COMPLETED');
        const refs = run.eventsOf('TaskScheduled').map(keyOf);
        expect([refs.length, new Set(refs).size, times(run, 'z')]).toEqual([7, 7, 1]);
      }
    },
  );
});

describe('kinds of faults that were reported of other engines: a loop', () => {
  const body = (): readonly Step[] => [
    fork('f', [
      [simple('a'), switchOn('s', 'x', { x: [simple('b'), simple('c')] })],
      [loop('m', 2, [simple('d'), loop('n', 2, [simple('e')])]), simple('g')],
      [simple('h')],
    ]),
    join('j'),
  ];

  it('never begins an iteration before all of the one before is over, in whatever order that ends', () => {
    for (let seed = 0; seed < ORDERS; seed += 1) {
      const run = finishInAnyOrder(new Run({ tasks: [loop('l', 2, body())] }, checked(seed)), seed);
      expect(run.status).toBe('COMPLETED');
      const open = new Set<string>();
      for (const event of run.events) {
        if (event.type === 'TaskScheduled') open.add(keyOf(event));
        else if (event.type === 'TaskClosed') open.delete(keyOf(event));
        else if (event.type === 'LoopIterated' && event.ref === 'l') expect([...open]).toEqual([]);
      }
    }
  });

  it('inside of another, beside a sibling, comes to its end as often as the outer one goes round', () => {
    for (let seed = 0; seed < ORDERS; seed += 1) {
      const run = finishInAnyOrder(
        new Run(
          { tasks: [fork('o', [[loop('l', 2, body())], [simple('x'), simple('y')]]), join('oj')] },
          checked(seed),
        ),
        seed,
      );
      expect(run.status).toBe('COMPLETED');
      const inner = run.eventsOf('TaskScheduled').filter(({ ref }) => ref.startsWith('e'));
      expect(inner).toHaveLength(8);
    }
  });

  it('goes round as often as its condition says, be it once or three hundred times', () => {
    for (const rounds of [1, 2, 300]) {
      const run = new Run({ tasks: [loop('l', rounds, [noop('n')])] });
      expect([run.status, run.output.iteration]).toEqual(['COMPLETED', rounds]);
    }
  });
});

describe('kinds of faults that were reported of other engines: time', () => {
  it('a deadline of an attempt is there for each attempt, and not for the first alone', () => {
    const run = new Run({
      tasks: [simple('a', { scheduleToStartTimeout: 10, retryCount: 2, retryDelaySeconds: 5, timeoutPolicy: 'RETRY' })],
    });
    for (const attempt of [1, 2, 3]) {
      const { visibleAt } = run.task('a');
      expect(run.task('a').attempt).toBe(attempt);
      expect([...run.timers.values()].map(({ fireAt }) => fireAt - visibleAt)).toEqual([10_000]);
      run.advance(visibleAt - run.now + 10_000);
    }
    expect([run.status, run.timers.size]).toEqual(['TIMED_OUT', 0]);
  });

  it('a step has its own timeouts in each workflow that uses its task', () => {
    const due = (fields: Step): number => {
      const taskDefinitions = [{ name: 'a', scheduleToStartTimeout: 100 }];
      const run = new Run({ tasks: [simple('a', fields)], taskDefinitions });
      return Math.min(...[...run.timers.values()].map(({ fireAt }) => fireAt - run.now));
    };
    expect([due({}), due({ scheduleToStartTimeout: 7 })]).toEqual([100_000, 7_000]);
  });
});

describe('kinds of faults that were reported of other engines: an end', () => {
  it('comes with the last task, whatever there is: no run stays open when all of its tasks are over', () => {
    const shapes: readonly (readonly Step[])[] = [
      [simple('a')],
      [noop('n')],
      [fork('f', [[simple('a')], []]), join('j')],
      [switchOn('s', 'none', { x: [simple('a')] })],
      [loop('l', 1, [switchOn('s', 'none', { x: [simple('a')] })])],
      [fork('f', [[loop('l', 2, [simple('a')])], [switchOn('s', 'x', { x: [noop('n')] })]]), join('j')],
    ];
    for (const tasks of shapes) expect(new Run({ tasks }).completeAll().status).toBe('COMPLETED');
  });

  it('is told once and stays: what comes after it changes nothing', () => {
    const run = new Run({ tasks: [fork('f', [[simple('a'), terminate('t', 'FAILED')], [simple('b')]]), join('j')] });
    const late = run.outcomeOf('b', 'COMPLETED');
    run.complete('a');
    const seq = run.state.seq;
    expect(run.request({ type: 'SettleTask', outcome: late })?.code).toBe('TERMINAL_STATE');
    run.advance(YEAR_MS);
    expect([run.status, run.state.seq, run.eventsOf('ExecutionClosed').length]).toEqual(['FAILED', seq, 1]);
  });

  it('by an operator is no last word: a run that was terminated goes on where it was when it is retried', () => {
    const run = new Run({ tasks: [simple('a'), fork('f', [[simple('b'), simple('c')], [simple('d')]]), join('j')] });
    run.complete('a').complete('d').terminate().retry();
    expect([run.status, run.open(), times(run, 'a'), times(run, 'd')]).toEqual(['RUNNING', ['b'], 1, 1]);
    expect(run.completeAll().status).toBe('COMPLETED');
  });
});

describe('kinds of faults that were reported of other engines: expressions', () => {
  it.each(['${workflow.env.PATH}', '${env.PATH}', '${system.env.HOME}', '${workflow.process.env}', '${7*7}'])(
    '%s shows nothing of the server and computes nothing',
    (expression) => {
      const plan = ((): Run | undefined => {
        try {
          return new Run({ tasks: [simple('a', { inputParameters: { x: expression } })] });
        } catch {
          return undefined;
        }
      })();
      // It is refused at registration, or reads as what is not there.
      expect([undefined, { x: null }]).toContainEqual(plan?.task('a').input);
    },
  );
});
