import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type Database, openDatabase } from '../../../src/adapters/postgres/database.ts';
import { createEngineStore } from '../../../src/adapters/postgres/engine-store.ts';
import { composed, count, sql, text } from '../../../src/adapters/postgres/statement.ts';
import { workflowDefinitionMethods } from '../../../src/adapters/postgres/workflow-definitions.ts';
import { addMs } from '../../../src/domain/kernel/brand.ts';
import type { EngineStore } from '../../../src/ports/engine-store.ts';
import { workflowDefinition } from '../../contract/definitions.ts';
import {
  ALPHA,
  closeOf,
  givenLeasedTask,
  givenScheduledEvent,
  newExecution,
  newTask,
  owed,
  pausedEvent,
  reportOf,
  timerOf,
} from '../../contract/given.ts';
import type { OpenHarness } from '../../contract/harness.ts';
import { createTestDatabase } from '../../support/postgres.ts';

/** The server tries this many plans for the very values before it may keep one for all. */
const CUSTOM_PLANS_MAX = 5;
const TURNS = 12;

/** What every step of every run sends. */
const HOT = [
  'decide_queue_claim',
  'events_append',
  'events_read',
  'executions_lock',
  'outcomes_read',
  'reports_settle',
  'runs_start',
  'runs_start_timed',
  'runs_step',
  'runs_step_timed',
  'tasks_close',
  'tasks_enqueue',
  'tasks_lease',
];

let database: Database;
let drop: () => Promise<void>;

beforeAll(async () => {
  const created = await createTestDatabase();
  drop = created.drop;
  // One connection: all statements are prepared on it.
  database = await openDatabase({ url: created.url, poolMax: 1 });
});

afterAll(async () => {
  await database.close();
  await drop();
});

const longRoad = async (engine: EngineStore): Promise<void> => {
  const held = await givenLeasedTask({ engine } as OpenHarness, { seq: 1 });
  await engine.settleTasks(held.namespace, [reportOf(held)]);
  await engine.transaction(async (tx) => {
    const { now } = await tx.claimEvaluations(100);
    await tx.readEvents(new Map([[held.executionId, 0]]));
    await tx.readOutcomes([held.executionId]);
    const task = newTask(held.executionId, now, 1);
    await tx.appendEvents([owed(held.executionId, pausedEvent(1, now))]);
    await tx.closeTasks([owed(held.executionId, closeOf({ ...task, ref: held.ref }, now))]);
  });
};

const shortRoad = async (engine: EngineStore, timed: boolean): Promise<void> => {
  const held = await givenLeasedTask({ engine } as OpenHarness, { seq: 1 });
  await givenScheduledEvent({ engine } as OpenHarness, held);
  const { executionId, namespace, startedAt } = held;
  const closed = closeOf({ ...newTask(executionId, startedAt, 1), ref: held.ref }, startedAt);
  const { stepped } = await engine.stepRuns([
    {
      executionId,
      namespace,
      reports: [reportOf(held)],
      events: [pausedEvent(2, startedAt)],
      closed: [closed],
      opened: [],
      armed: [],
      disarmed: timed ? [{ type: 'CancelTimers', ref: held.ref, iteration: 0, attempt: 1 }] : [],
      endsWork: false,
      messages: [],
    },
  ]);
  expect(stepped.size).toBe(1);
};

const shortStart = async (engine: EngineStore, timed: boolean): Promise<void> => {
  const now = await engine.now();
  const execution = newExecution(now);
  const { executionId, namespace, name } = execution;
  const slot = { ref: '', iteration: 0, attempt: 0 };
  const { stepped } = await engine.startRuns([
    {
      execution,
      pinned: { namespace, name, found: { version: 1, hash: 'hash-1' }, tasks: [{ name: 'charge' }] },
      step: {
        executionId,
        namespace,
        reports: [],
        events: [pausedEvent(1, now)],
        closed: [],
        opened: [{ task: newTask(executionId, now, 2, { queue: 'begun' }) }],
        armed: timed ? [timerOf(slot, 'EXECUTION', addMs(now, 60_000))] : [],
        disarmed: [],
        endsWork: false,
        messages: [],
      },
    },
  ]);
  expect(stepped.size).toBe(1);
};

/** Conditions that a plan asks of each pair of rows instead of looking one of them up: the work of a step would grow with its run. */
const joinFilters = async (name: string, parameters: number): Promise<readonly string[]> => {
  const nothing = sql.join(
    Array.from({ length: parameters }, () => sql.fragment`null`),
    sql.fragment`, `,
  );
  const lines = await database.rows(composed(z.object({ 'QUERY PLAN': text }))`
    explain execute ${sql.identifier([name])}(${nothing})`);
  return lines.map((line) => line['QUERY PLAN'].trim()).filter((line) => line.startsWith('Join Filter'));
};

it('the plans of the statements of every step are kept, however much they are asked for at a time', async () => {
  const engine = createEngineStore(database);
  await workflowDefinitionMethods(database).putWorkflow(ALPHA, workflowDefinition('checkout', 1), 'hash-1', false);
  for (let turn = 0; turn < TURNS; turn += 1) {
    await longRoad(engine);
    await shortRoad(engine, false);
    await shortRoad(engine, true);
    await shortStart(engine, false);
    await shortStart(engine, true);
  }
  const plans = await database.rows(composed(
    z.object({ name: text, custom: count, generic: count, parameters: count }),
  )`
    select name, custom_plans as custom, generic_plans as generic, cardinality(parameter_types) as parameters from pg_prepared_statements order by name`);
  const hot = plans.filter(({ name }) => HOT.includes(name));
  for (const { name, parameters } of hot) expect([name, await joinFilters(name, parameters)]).toEqual([name, []]);
  expect(hot.map(({ name }) => name)).toEqual(HOT);
  expect(hot.filter(({ custom, generic }) => custom > CUSTOM_PLANS_MAX || generic === 0)).toEqual([]);
});
