import { describe, expect, it } from 'vitest';
import { TASK_TYPES } from '../../../src/domain/definition/task-types.ts';
import { keyOf } from '../../../src/domain/execution/task-key.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { type OpenTask, Run, type RunOptions } from '../../support/drive.ts';
import { checkAll } from '../../support/kernel-checks.ts';
import { keyIn, PLACES, type Place, SCENARIOS, type Scenario, SUBJECTS, type Subject } from '../../support/matrix.ts';

/** Completions of one run: more would go round for ever. */
const STEPS_MAX = 100;
const UNREADABLE = '[?(';

type Cell = Readonly<{ subject: Subject; place: Place; run: Run; checking: Checking; first: string; last: string }>;
type Checking = { checks: boolean };

/** `bad` is what `a` answers where the input of the task must not make sense. */
const answerOf = (task: OpenTask, path: string): JsonObject => (task.taskName === 'a' ? { path } : {});

const cellOf = (
  subject: Subject,
  place: Place,
  fields: JsonObject = {},
  checking: Checking = { checks: true },
): Cell => {
  const steps = subject.steps((type, own = {}, input = {}) => ({
    name: 'x',
    taskReferenceName: 'x',
    type,
    ...own,
    ...fields,
    inputParameters: { ...input, told: '${workflow.input.${a.output.path}}' },
  }));
  const options: RunOptions = Object.assign(checking, { input: { fine: 1 }, ...place.options });
  const run = new Run({ tasks: place.around(steps) }, options);
  const keys = place.paths.map((path) => keyIn('x', path));
  const last = subject.ends === true ? keys[0] : keys.at(-1);
  return { subject, place, run, checking, first: keys[0] ?? '', last: last ?? '' };
};

/** Completes one open task, the oldest. */
const step = (run: Run, path = 'fine'): void => {
  const [task] = run.openTasks.values();
  if (task === undefined) throw new Error(`nothing is open in a run that is ${run.status}`);
  run.complete(keyOf(task), answerOf(task, path));
};

/** Takes a run to its end, and checks what it has become; its single steps only where they are new. */
const finish = ({ run, checking }: Cell, checks = false): Run => {
  checking.checks = checks;
  for (let steps = 0; run.status === 'RUNNING' && steps < STEPS_MAX; steps += 1) step(run);
  checking.checks = true;
  checkAll(run, run.log.length, []);
  return run;
};

/** Completes what is open, and what that opens. */
const drain = ({ run, checking }: Cell): void => {
  checking.checks = false;
  while (run.openTasks.size > 0) step(run);
  checking.checks = true;
};

/** Completes until this task is open. */
const reach = ({ run, checking }: Cell, key: string): void => {
  checking.checks = false;
  for (let steps = 0; !run.open().includes(key) && steps < STEPS_MAX; steps += 1) step(run);
  checking.checks = true;
};

const failingKey = ({ subject, place, first }: Cell): string => subject.fails?.(place.paths[0] ?? []) ?? first;

/** Every task that the definition runs, by what it says alone; those beside a run's early end may have come so far or not. */
const expectEnd = ({ subject, place, run }: Cell): void => {
  const ends = subject.ends === true;
  const paths = ends ? place.paths.slice(0, 1) : place.paths;
  const own = paths.flatMap((path) => subject.completes(path));
  const found = [...new Set(run.completed())].filter((key) => !ends || !key.startsWith('q'));
  expect([run.status, run.reason, run.open(), run.timers.size]).toEqual(['COMPLETED', undefined, [], 0]);
  expect(found.sort()).toEqual([...own, ...(ends ? place.completesUntil : place.completes)].sort());
  const told = run.published.filter((command) => command.type === 'PublishMessage' && command.topic === 'child-ended');
  expect(told.length > 0).toBe(place.options?.started?.parent !== undefined);
};

const passages = (run: Run, key: string): number => run.view.tasks.filter((task) => keyOf(task) === key).length;

/** Completions until a run of the cell is over. */
const lengthOf = (subject: Subject, place: Place): number => {
  const { run } = cellOf(subject, place, {}, { checks: false });
  let steps = 0;
  for (; run.status === 'RUNNING'; steps += 1) step(run);
  return steps;
};

/** A run that has come so far. Its steps until then are those of the first scenario, which are checked there. */
const cellAfter = (subject: Subject, place: Place, steps: number): Cell => {
  const cell = cellOf(subject, place, {}, { checks: false });
  for (let done = 0; done < steps; done += 1) step(cell.run);
  cell.checking.checks = true;
  return cell;
};

const keyBefore = ({ place, last, first }: Cell): string =>
  keyIn('a', (last === first ? place.paths[0] : place.paths.at(-1)) ?? []);

/** A loop that is over keeps what ran last in it one by one, unless data brought tasks into it. */
const isKept = ({ subject, last }: Cell): boolean => subject.bringsTasks !== true || last === 'x';

/** The task ran twice in the end, and what stands before and behind it as often as told. */
const expectAgain = (cell: Cell, times: Readonly<{ before: number; behind: number }>): void => {
  const { subject, place, run, last } = cell;
  finish(cell);
  expectEnd(cell);
  expect([passages(run, last), passages(run, keyBefore(cell))]).toEqual([2, times.before]);
  if (place.behind !== undefined && subject.ends !== true) expect(passages(run, place.behind)).toBe(times.behind);
};

const rerunTasks = (cell: Cell, cascade: boolean): void => {
  const { run, last } = cell;
  finish(cell);
  const refused = run.request({ type: 'RerunTasks', by: 'operator', tasks: [last], cascade });
  if (isKept(cell)) {
    expect(refused).toBeUndefined();
    return expectAgain(cell, { before: 1, behind: cascade ? 2 : 1 });
  }
  expect(refused?.message).toBe(`Task ${last} ran in an iteration that is over; rerun from it instead.`);
  expectEnd(cell);
};

/** What each scenario does and where it must lead. */
const PLAYS: Readonly<Record<Scenario, (subject: Subject, place: Place) => void>> = {
  'comes to its end': (subject, place) => {
    const cell = cellOf(subject, place);
    finish(cell, true);
    expectEnd(cell);
    expect(passages(cell.run, cell.last)).toBe(1);
  },
  'is refused by its data': (subject, place) => {
    const cell = cellOf(subject, place);
    const { run, first } = cell;
    for (let steps = 0; run.status === 'RUNNING' && steps < STEPS_MAX; steps += 1) step(run, UNREADABLE);
    const seen = (): unknown => [run.status, run.seen(first).status, run.seen(first).attempt, run.open()];
    expect(seen()).toEqual(['FAILED', 'FAILED_WITH_TERMINAL_ERROR', 1, []]);
    expect(run.reason).toContain('EXPRESSION_INVALID');
    run.retry();
    // What was open beside it and not done runs until the refusal ends the run again.
    expect(seen()).toEqual(['FAILED', 'FAILED_WITH_TERMINAL_ERROR', 2, []]);
    run.rerunTasks([keyIn('a', place.paths[0] ?? [])], true);
    finish(cell);
    expectEnd(cell);
  },
  fails: (subject, place) => {
    const cell = cellOf(subject, place);
    const { run } = cell;
    const key = failingKey(cell);
    reach(cell, key);
    run.failForGood(key, 'it is broken');
    expect([run.status, run.open(), run.timers.size]).toEqual(['FAILED', [], 0]);
    expect(run.reason).toContain('it is broken');
    expect(run.view.failedTask).toBe(key);
    run.retry();
    expect([run.status, run.task(key).attempt]).toEqual(['RUNNING', 2]);
    finish(cell);
    expectEnd(cell);
  },
  'is retried': (subject, place) => {
    const cell = cellOf(subject, place, { retryCount: 1, retryDelaySeconds: 0 });
    const { run, first } = cell;
    reach(cell, first);
    run.fail(first);
    expect([run.status, run.task(first).attempt]).toEqual(['RUNNING', 2]);
    finish(cell);
    expectEnd(cell);
  },
  'times out': (subject, place) => {
    const cell = cellOf(subject, place, { totalTimeout: 60, retryCount: 3 });
    const { run, first } = cell;
    reach(cell, first);
    run.advance(60_000);
    expect([run.status, run.seen(first).status, run.open()]).toEqual(['TIMED_OUT', 'TIMED_OUT', []]);
    run.retry();
    expect(run.task(first).attempt).toBe(2);
    finish(cell);
    expectEnd(cell);
  },
  'is paused anywhere and resumed': (subject, place) => {
    const steps = lengthOf(subject, place);
    for (let before = 0; before < steps; before += 1) {
      const cell = cellAfter(subject, place, before);
      const { run } = cell;
      const scheduled = () => run.eventsOf('TaskScheduled').length;
      const had = scheduled();
      run.pause();
      drain(cell);
      expect([run.status, scheduled()]).toEqual(['PAUSED', had]);
      run.resume();
      finish(cell);
      expectEnd(cell);
    }
  },
  'is terminated anywhere and retried': (subject, place) => {
    const steps = lengthOf(subject, place);
    for (let before = 0; before < steps; before += 1) {
      const cell = cellAfter(subject, place, before);
      const { run } = cell;
      run.terminate('enough');
      expect([run.status, run.reason, run.open(), run.timers.size]).toEqual(['TERMINATED', 'enough', [], 0]);
      run.retry();
      finish(cell);
      expectEnd(cell);
    }
  },
  'is where the run begins again': (subject, place) => {
    const cell = cellOf(subject, place);
    finish(cell).rerun(cell.last);
    expectAgain(cell, { before: isKept(cell) ? 1 : 2, behind: 2 });
  },
  'runs again with all behind it': (subject, place) => rerunTasks(cellOf(subject, place), true),
  'runs again alone': (subject, place) => rerunTasks(cellOf(subject, place), false),
};

const makesSense = (type: (typeof TASK_TYPES)[number], scenario: Scenario): boolean =>
  SUBJECTS[type].without[scenario] === undefined;

describe.each(SCENARIOS)('a task that %s', (scenario) => {
  describe.each(Object.entries(PLACES))('%s', (_name, place) => {
    it.each(TASK_TYPES.filter((type) => makesSense(type, scenario)))('%s', (type) => {
      PLAYS[scenario](SUBJECTS[type], place);
    });
  });
});

describe('the matrix of task types, scenarios and places', () => {
  it('has each type of task, and leaves out only what is decided at once or has neither retries nor a clock', () => {
    expect(Object.keys(SUBJECTS).sort()).toEqual([...TASK_TYPES].sort());
    const left = TASK_TYPES.flatMap((type) => SCENARIOS.filter((scenario) => !makesSense(type, scenario)));
    expect([...new Set(left)].sort()).toEqual(['fails', 'is retried', 'times out']);
    const cells = TASK_TYPES.length * SCENARIOS.length - left.length;
    expect([cells, cells * Object.keys(PLACES).length]).toEqual([274, 1_370]);
  });
});
