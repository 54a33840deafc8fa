import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keyOf } from '../../src/domain/execution/task-key.ts';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { Chance } from '../support/chance.ts';
import { type OpenTask, Run } from '../support/drive.ts';
import { expectationOf } from '../support/model.ts';
import { actHarmlessly, actWildly } from '../support/operators.ts';
import { type Named, type Program, programs } from '../support/programs.ts';

/** Steps in which anything may happen; after them everything is completed. */
const CHAOS_STEPS = 40;
const STEPS_MAX = 2_000;
/** More of them when asked for: `PROPERTY_RUNS=5000 vitest run --project pure test/property/kernel.test.ts`. */
const RUNS = { numRuns: Number(process.env.PROPERTY_RUNS ?? 150) };
const TIMEOUT_MS = 1_000 * Math.max(180, RUNS.numRuns);

const counted = (task: OpenTask): JsonObject => {
  const { n } = task.input as { n?: number | null };
  return task.taskType === 'SIMPLE' ? { n: (n ?? 0) + 1 } : {};
};

const flatten = (program: readonly Named[]): readonly Named[] =>
  program.flatMap((named) => [named, ...flatten(named.children.flat())]);

/** One random thing that may happen to a run, however it stands. */
const disturb = (run: Run, program: Program, chance: Chance): void => {
  const tasks = [...run.openTasks.values()];
  const kinds = flatten(program.root);
  const action = chance.pick(['pause', 'terminate', 'break', 'fail', 'time out', 'signal', 'race'] as const);
  if (run.status === 'PAUSED' && chance.isBelow(0.5)) return void run.resume();
  switch (action) {
    case 'pause':
      if (run.status === 'RUNNING') run.pause();
      return;
    case 'terminate':
      return void run.terminate();
    case 'signal': {
      const waits = kinds.filter(({ shape }) => shape.kind === 'wait');
      if (waits.length > 0) run.signal(chance.pick(waits).ref, { early: true });
      return;
    }
    case 'race': {
      const raced = tasks.filter(() => chance.isBelow(0.5));
      const outcomes = raced.map((task) => run.outcomeOf(keyOf(task), 'COMPLETED', { output: counted(task) }));
      run.requestAll([...outcomes, ...outcomes].map((outcome) => ({ type: 'SettleTask', outcome })));
      return;
    }
    default:
  }
  if (tasks.length === 0) return;
  const key = keyOf(chance.pick(tasks));
  if (action === 'break') run.failForGood(key);
  else if (action === 'fail') run.fail(key);
  else run.timeOut(key, chance.pick(['HEARTBEAT', 'SCHEDULE_TO_START', 'START_TO_CLOSE', 'SCHEDULE_TO_CLOSE']));
};

const isFlaky = (task: OpenTask, program: Program): boolean => {
  const named = flatten(program.root).find(({ ref }) => task.taskName === ref);
  return named?.shape.kind === 'task' && named.shape.flaky && task.attempt === 1;
};

const advance = (run: Run, program: Program, chance: Chance): void => {
  const tasks = [...run.openTasks.values()];
  if (tasks.length === 0) return;
  const task = chance.pick(tasks);
  if (isFlaky(task, program)) run.fail(keyOf(task));
  else run.complete(keyOf(task), counted(task));
};

/** Drives a run to its end; failed runs are retried as long as `retries` says so. */
const driveToEnd = (run: Run, program: Program, chance: Chance, disturbance: number, retries: number): void => {
  let retried = 0;
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const isChaos = step < CHAOS_STEPS;
    if (run.status === 'COMPLETED') return;
    if (run.status !== 'RUNNING' && run.status !== 'PAUSED') {
      if (retried >= retries || run.state.compensation?.status === 'COMPLETED') return;
      retried += 1;
      run.retry();
    } else if (isChaos && chance.isBelow(disturbance)) disturb(run, program, chance);
    else if (run.status === 'PAUSED' && (!isChaos || run.openTasks.size === 0 || chance.isBelow(0.3))) run.resume();
    else advance(run, program, chance);
  }
  throw new Error(`still ${run.status} after ${STEPS_MAX} steps; open are ${run.open().join(', ')}`);
};

type Ended = Readonly<{ key: string; input: unknown; output: JsonObject }>;

/** Lets a run come so far and then breaks one of its tasks for good. Tells what completed, in the order in which it did. */
const failSomewhere = (run: Run, program: Program, chance: Chance): readonly Ended[] => {
  const ended: Ended[] = [];
  while (run.status === 'RUNNING') {
    const task = chance.pick([...run.openTasks.values()]);
    const key = keyOf(task);
    if (chance.isBelow(0.1)) {
      run.failForGood(key);
      break;
    }
    if (isFlaky(task, program)) run.fail(key);
    else {
      ended.push({ key, input: task.input, output: counted(task) });
      run.complete(key, counted(task));
    }
  }
  return ended;
};

/** Completes one compensation after the other, some at their second attempt, some while an operator holds the run. */
const unwind = (run: Run, chance: Chance): readonly Readonly<{ key: string; input: unknown }>[] => {
  const undone: Readonly<{ key: string; input: unknown }>[] = [];
  while (run.status === 'RUNNING') {
    const open = [...run.openTasks.values()];
    expect(open).toHaveLength(1);
    const task = chance.pick(open);
    if (chance.isBelow(0.2)) run.fail(keyOf(task));
    const isHeld = chance.isBelow(0.2);
    if (isHeld) run.pause();
    undone.push({ key: keyOf(task), input: task.input });
    run.complete(keyOf(task), {});
    if (isHeld) run.resume();
  }
  return undone;
};

/** Operators act on a run now and then while it goes, and once it has ended, and in the end let it be. */
const operate = (run: Run, program: Program, chance: Chance, act: (run: Run) => void): void => {
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const isChaos = step < CHAOS_STEPS;
    if (isChaos && chance.isBelow(0.3)) act(run);
    else if (run.status === 'RUNNING') {
      if (isChaos && chance.isBelow(0.1)) run.pause();
      else advance(run, program, chance);
    } else if (run.status === 'PAUSED') {
      if (run.openTasks.size > 0 && chance.isBelow(0.5)) advance(run, program, chance);
      else run.resume();
    } else if (!isChaos) return;
  }
  throw new Error(`still ${run.status} after ${STEPS_MAX} steps; open are ${run.open().join(', ')}`);
};

const outputsOf = (counts: ReadonlyMap<string, number>): JsonObject =>
  Object.fromEntries([...counts.keys()].map((ref) => [ref, `\${${ref}.output.n}`]));

/** Longer ones meet nothing new, and checking every step against the whole log takes its square. */
const TASKS_MAX = 60;
const sized = (wild: boolean, undone = wild, tasksMax = TASKS_MAX): fc.Arbitrary<Program> =>
  programs(wild, undone).filter((program) => expectationOf(program).completed.length <= tasksMax);

/** What runs again and again makes the logs long. */
const OPERATED_TASKS_MAX = 25;

const seeds = fc.integer();
const bounds = fc.constantFrom(undefined, 1, 2, 7);
/** maxConcurrentTasks; 0: no limit. */
const inFlight = fc.constantFrom(0, 0, 1, 2, 3);

describe('the kernel, over random programs and histories (every step is checked by test/support/kernel-checks.ts)', () => {
  test(
    'does exactly what the definition says, whatever fails and is retried on the way',
    () => {
      const property = fc.property(
        sized(false),
        seeds,
        bounds,
        inFlight,
        (program, seed, eventsMax, maxConcurrentTasks) => {
          const expected = expectationOf(program);
          const fields = { outputParameters: outputsOf(expected.counts), maxConcurrentTasks };
          const options = { input: program.input, ...(eventsMax === undefined ? {} : { eventsMax }) };
          const run = new Run({ tasks: program.tasks, fields }, options);
          driveToEnd(run, program, new Chance(seed), 0.25, Number.POSITIVE_INFINITY);
          expect(run.status).toBe('COMPLETED');
          expect([...run.completed()].sort()).toEqual([...expected.completed].sort());
          expect(run.output).toEqual(Object.fromEntries(expected.counts));
        },
      );
      fc.assert(property, RUNS);
    },
    TIMEOUT_MS,
  );

  test(
    'comes to an end, and stays itself, when anything may fail, be forgiven, stop or be retried',
    () => {
      const property = fc.property(
        sized(true),
        seeds,
        bounds,
        inFlight,
        (program, seed, eventsMax, maxConcurrentTasks) => {
          const options = { input: program.input, ...(eventsMax === undefined ? {} : { eventsMax }) };
          const run = new Run({ tasks: program.tasks, fields: { maxConcurrentTasks } }, options);
          driveToEnd(run, program, new Chance(seed), 0.5, 3);
          expect(['COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED']).toContain(run.status);
          expect(run.open()).toEqual([]);
        },
      );
      fc.assert(property, RUNS);
    },
    TIMEOUT_MS,
  );

  test(
    'undoes what completed, the last one first and each with what it was given and gave, wherever it fails',
    () => {
      const property = fc.property(sized(false, true), seeds, bounds, (program, seed, eventsMax) => {
        const { undoable } = expectationOf(program);
        const options = { input: program.input, ...(eventsMax === undefined ? {} : { eventsMax }) };
        const run = new Run({ tasks: program.tasks }, options);
        const chance = new Chance(seed);
        const ended = failSomewhere(run, program, chance);
        if (run.status === 'COMPLETED') return;
        const undone = [...ended].reverse().filter(({ key }) => undoable.has(key));
        const told = undone.map(({ key, input, output }) => ({ key: undoable.get(key), input: { input, output } }));
        expect(unwind(run, chance)).toEqual(told);
        expect(run.status).toBe('FAILED');
        expect((run.view.variables.__compensation as JsonObject | undefined)?.status).toBe(
          undone.length === 0 ? undefined : 'COMPLETED',
        );
      });
      fc.assert(property, RUNS);
    },
    TIMEOUT_MS,
  );

  test(
    'comes to the end that the definition says, whatever operators let run again on the way and after it',
    () => {
      const property = fc.property(
        sized(false, false, OPERATED_TASKS_MAX),
        seeds,
        bounds,
        (program, seed, eventsMax) => {
          const expected = expectationOf(program);
          const fields = { outputParameters: outputsOf(expected.counts) };
          const options = { input: program.input, ...(eventsMax === undefined ? {} : { eventsMax }) };
          const run = new Run({ tasks: program.tasks, fields }, options);
          const chance = new Chance(seed);
          operate(run, program, chance, () => actHarmlessly(run, chance));
          expect(run.status).toBe('COMPLETED');
          expect([...new Set(run.completed())].sort()).toEqual([...new Set(expected.completed)].sort());
          expect(run.output).toEqual(Object.fromEntries(expected.counts));
        },
      );
      fc.assert(property, RUNS);
    },
    TIMEOUT_MS,
  );

  test(
    'comes to an end, and stays itself, whatever operators do to it',
    () => {
      const property = fc.property(sized(true, true, OPERATED_TASKS_MAX), seeds, bounds, (program, seed, eventsMax) => {
        const options = { input: program.input, ...(eventsMax === undefined ? {} : { eventsMax }) };
        const run = new Run({ tasks: program.tasks }, options);
        const chance = new Chance(seed);
        const refs = flatten(program.root).flatMap(({ ref, joinRef }) => [ref, joinRef, `${ref}__1`]);
        operate(run, program, chance, () => {
          if (chance.isBelow(0.3) && (run.status === 'RUNNING' || run.status === 'PAUSED'))
            disturb(run, program, chance);
          else actWildly(run, refs, chance);
        });
        expect(['COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED']).toContain(run.status);
        expect(run.open()).toEqual([]);
      });
      fc.assert(property, RUNS);
    },
    TIMEOUT_MS,
  );
});
