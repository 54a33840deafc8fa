import { setTimeout as delay } from 'node:timers/promises';
import type { UseCases } from '../../src/application/use-cases.ts';
import type { ExecutionId } from '../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { NAMESPACE, startEngine } from '../../test/support/engine-harness.ts';
import type { Figures } from '../figures.ts';
import { inParallel, quantile, round } from '../measure.ts';
import { type Scenario, share } from './scenario.ts';

const WIDTH = 50;
const EVENTS_MAX = 20;
/** Between two that are alone: no divisor of the idle times of the loops. */
const APART_MS = 137;
const END_MS_MAX = 60_000;

/** A wait that the clock ends after a second, and a task that no worker takes within a second. */
const wait: JsonObject = {
  name: 'timed-wait',
  version: 1,
  tasks: [{ name: 'w', taskReferenceName: 'w', type: 'WAIT', inputParameters: { duration: '1 second' } }],
};
const deadline: JsonObject = {
  name: 'timed-deadline',
  version: 1,
  tasks: [
    {
      name: 'nobody',
      taskReferenceName: 'nobody',
      type: 'SIMPLE',
      retryCount: 0,
      taskDefinition: { name: 'nobody', scheduleToStartTimeout: 1 },
    },
  ],
};

const start = async (useCases: UseCases, name: string): Promise<ExecutionId> => {
  const started = await useCases.executions.start(NAMESPACE, {
    name,
    input: {},
    priority: 0,
    idempotencyStrategy: 'RETURN_EXISTING',
  });
  if (!started.ok) throw new Error(started.error.message);
  return started.value.executionId;
};

/** Milliseconds from when the attempt was due to end until the fact that it has. */
const lateness = async (useCases: UseCases, id: ExecutionId): Promise<number> => {
  const ended = await useCases.executions.wait(NAMESPACE, id, {
    waitMs: END_MS_MAX,
    signal: new AbortController().signal,
  });
  if (!ended.ok || ended.value.view.endedAt === undefined) throw new Error(`${id} did not end`);
  const history = await useCases.executions.history(NAMESPACE, id, 0, EVENTS_MAX);
  if (!history.ok) throw new Error(history.error.message);
  const events = history.value.events.map(({ event }) => event);
  const opened = events.find((event) => event.type === 'TaskScheduled');
  const closed = events.find((event) => event.type === 'TaskClosed');
  if (opened?.type !== 'TaskScheduled' || closed === undefined) throw new Error(`${id} has no task`);
  return closed.at - (opened.fireAt ?? opened.at + 1_000);
};

const told = (label: string, late: readonly number[]): Figures => ({
  [`${label} p50 ms late`]: round(quantile(late, 0.5), 0),
  [`${label} p99 ms late`]: round(quantile(late, 0.99), 0),
  [`${label} latest ms`]: Math.max(...late),
});

/** How late the clock ends what it ends: `alone` one at a time on an idle server, `together` all due at the same time. */
const lateTimers = (alone: number, together: number): Scenario => ({
  name: 'timers',
  run: async (database) => {
    const { useCases, stop } = await startEngine({ url: database.url, allowUnsafeDurability: false });
    for (const definition of [wait, deadline]) {
      const registered = await useCases.definitions.registerWorkflow(NAMESPACE, definition, 'v1', true);
      if (!registered.ok) throw new Error(JSON.stringify(registered.error));
    }
    const measured: Record<string, number[]> = {};
    for (const name of ['timed-wait', 'timed-deadline']) {
      const late: number[] = [];
      for (let run = 0; run < alone; run += 1) {
        late.push(await lateness(useCases, await start(useCases, name)));
        await delay(APART_MS);
      }
      measured[name] = late;
    }
    const ids: ExecutionId[] = [];
    await inParallel(Array.from({ length: together }).keys(), WIDTH, async () => {
      ids.push(await start(useCases, 'timed-wait'));
    });
    const late: number[] = [];
    await inParallel(ids, WIDTH, async (id) => {
      late.push(await lateness(useCases, id));
    });
    await stop();
    return {
      alone,
      together,
      ...told('a wait alone', measured['timed-wait'] ?? []),
      ...told('a deadline alone', measured['timed-deadline'] ?? []),
      ...told('waits together', late),
    };
  },
});

export const timers = (runs: number): readonly Scenario[] => [lateTimers(share(runs, 1 / 60), share(runs, 1 / 3))];
