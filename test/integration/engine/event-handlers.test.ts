import { describe, expect, it } from 'vitest';
import { RelayOutbox } from '../../../src/application/relay-outbox.ts';
import type { EventHandler } from '../../../src/domain/event-handler/event-handler.ts';
import { NAMESPACE, type TestServer, useCluster } from '../../support/engine.ts';
import { type Life, mortal, SimulatedCrash } from '../../support/faults.ts';
import { violations } from '../../support/invariants.ts';
import { registerWorkflow, startRun, statusOf } from '../../support/runs.ts';

/** What one handler of one event does in its transaction, one after the other. */
const STEPS = [
  'findHandler',
  'requestEvaluations',
  'claimEventDedupe',
  'createExecutions',
  'appendEvents',
  'recordEventHandlerRun',
  'markDelivered',
] as const;

const life: Life = { isDead: false };

describe('event handlers on PostgreSQL', () => {
  const { at, cluster } = useCluster({}, { faults: (engine) => mortal(engine, life) });
  const relayOf = (server: TestServer) => new RelayOutbox(server.engine, server.handlers, () => undefined);
  const becomesDue = () => cluster().observer.query('update outbox_events set available_at = clock_timestamp()');
  const settle = async (server: TestServer): Promise<void> => {
    for (let found = 1; found > 0; ) found = (await server.evaluateAll()) + (await relayOf(server).runOnce());
  };
  const runsOf = async (name: string) => (await at(0).index.search(NAMESPACE, { name }, { limit: 1_000 })).length;
  const put = async (handler: Pick<EventHandler, 'name' | 'event' | 'actions'>): Promise<void> => {
    const whole: EventHandler = { ...handler, active: true, dedupeId: '${order}', dialect: 'v1' };
    const stored = await at(0).useCases.eventHandlers.put(NAMESPACE, whole, 'test');
    if (!stored.ok) throw new Error(stored.error.message);
  };
  const task = (type: string) => ({ name: 't', taskReferenceName: 't', type });
  const prepare = async (name: string) => {
    await registerWorkflow(at(0), { name: `${name}_shipped`, version: 1, tasks: [task('NOOP')] });
    await registerWorkflow(at(0), { name: `${name}_waits`, version: 1, tasks: [task('WAIT')] });
    const event = `internal:${name}`;
    const started = { type: 'START_WORKFLOW', input: { name: `${name}_shipped` }, expandInlineJson: false } as const;
    const input = { workflowId: '${run}', taskRefName: 't' };
    const completed = { type: 'COMPLETE_TASK', input, expandInlineJson: false } as const;
    await put({ name, event, actions: [started, completed] });
    const run = await startRun(at(0), `${name}_waits`);
    return { event, run };
  };

  it.each(STEPS)('do all that they do once when the relay dies after %s', async (step) => {
    const name = `killed_${step.toLowerCase()}`;
    const { event, run } = await prepare(name);
    await at(0).useCases.eventHandlers.publish(NAMESPACE, { event, payload: { run, order: 7 } });
    life.diesAfter = step;
    await expect(relayOf(at(1)).runOnce()).rejects.toThrow(SimulatedCrash);
    delete life.diesAfter;
    life.isDead = false;
    expect([await runsOf(`${name}_shipped`), await statusOf(at(0), run)]).toEqual([0, 'RUNNING']);
    await becomesDue();
    await settle(at(0));
    expect([await runsOf(`${name}_shipped`), await statusOf(at(0), run)]).toEqual([1, 'COMPLETED']);
    const log = await at(0).useCases.eventHandlers.runs(NAMESPACE, name, 10);
    expect(log.ok && log.value.items.map(({ state }) => state)).toEqual(['ACTED']);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });

  it('act once on 40 messages of one id that two relays carry at the same time', async () => {
    const { event, run } = await prepare('many');
    await Promise.all(
      Array.from({ length: 40 }, () =>
        at(0).useCases.eventHandlers.publish(NAMESPACE, { event, payload: { run, order: 1 } }),
      ),
    );
    const carry = async (server: TestServer) => {
      while ((await relayOf(server).runOnce()) > 0);
    };
    await Promise.all([carry(at(0)), carry(at(1))]);
    await settle(at(0));
    expect([await runsOf('many_shipped'), await statusOf(at(0), run)]).toEqual([1, 'COMPLETED']);
    const log = await at(0).useCases.eventHandlers.runs(NAMESPACE, 'many', 100);
    const states = log.ok ? log.value.items.map(({ state }) => state) : [];
    expect(states.filter((state) => state === 'ACTED')).toHaveLength(1);
    expect(states.filter((state) => state === 'DUPLICATE')).toHaveLength(39);
  });
});
