import { describe, expect, it } from 'vitest';
import { failureWorkflowHandler } from '../../../src/application/failure-workflow.ts';
import { DELIVERY_ATTEMPTS_MAX, type MessageHandler, RelayOutbox } from '../../../src/application/relay-outbox.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { NAMESPACE, type TestServer, useCluster } from '../../support/engine.ts';
import { type Life, mortal, SimulatedCrash } from '../../support/faults.ts';
import { violations } from '../../support/invariants.ts';
import { registerWorkflow, startRun, statusOf } from '../../support/runs.ts';
import { leaseOne, reportOne } from '../../support/workers.ts';
import { chain } from './definitions.ts';
import { countOf } from './given.ts';

const TOPIC = 'start-failure-workflow';
const life: Life = { isDead: false };

describe('the outbox', () => {
  const { at, cluster } = useCluster({}, { faults: (engine) => mortal(engine, life) });

  const relayOf = (server: TestServer, handlers: Readonly<Record<string, MessageHandler>>) => {
    const failures: { reason: string; dead: boolean }[] = [];
    const relay = new RelayOutbox(server.engine, new Map(Object.entries(handlers)), (_id, reason, dead) =>
      failures.push({ reason, dead }),
    );
    return { relay, failures };
  };

  const becomesDue = () =>
    cluster().observer.query('update outbox_events set available_at = clock_timestamp() where dead_at is null');

  /** A run that has failed and owes the start of its failure workflow. */
  const givenFailure = async (name: string): Promise<ExecutionId> => {
    await registerWorkflow(at(0), chain(`${name}_failed`, 1));
    await registerWorkflow(at(0), {
      ...chain(name, 1, name, { retryCount: 0 }),
      failureWorkflow: `${name}_failed`,
    });
    const id = await startRun(at(0), name, { input: { order: 7 }, correlationId: `c-${name}` });
    expect(await reportOne(at(0), await leaseOne(at(0), name), { status: 'FAILED' })).toBe('settled');
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('FAILED');
    return id;
  };

  const startedBy = async (name: string) => {
    const found = await at(0).index.search(NAMESPACE, { name: `${name}_failed` }, { limit: 10 });
    return Promise.all(found.map(({ executionId }) => at(0).index.find(NAMESPACE, executionId)));
  };

  it('starts the failure workflow of a failed run, through the relay of a server as it is composed', async () => {
    const id = await givenFailure('composed');
    at(0).startLoops('relay-outbox');
    const task = await leaseOne(at(0), 'composed_failed', { waitMs: 10_000 });
    await at(0).stopLoops();
    expect(await startedBy('composed')).toMatchObject([
      { correlationId: 'c-composed', input: { order: 7, workflowId: id, failureStatus: 'FAILED' } },
    ]);
    expect(await reportOne(at(0), task)).toBe('settled');
    await at(0).evaluateAll();
    expect(await countOf(cluster().observer, 'select count(*) from outbox_events')).toBe(0);
    expect(at(0).problems).toEqual([]);
  });

  it('delivers again when the relay dies between delivery and mark, and the failure workflow is started once', async () => {
    await givenFailure('redelivered');
    const { relay } = relayOf(at(1), { [TOPIC]: failureWorkflowHandler(at(0).start) });
    life.diesAfter = 'markDelivered';
    await expect(relay.runOnce()).rejects.toThrow(SimulatedCrash);
    delete life.diesAfter;
    life.isDead = false;
    expect(await startedBy('redelivered')).toHaveLength(1);
    expect(await countOf(cluster().observer, 'select count(*) from outbox_events')).toBe(1);
    await becomesDue();
    expect(await relay.runOnce()).toBe(1);
    expect(await startedBy('redelivered')).toHaveLength(1);
    expect(await countOf(cluster().observer, 'select count(*) from outbox_events')).toBe(0);
  });

  it('hands one message to one relay at a time, and ten at once start the failure workflow once', async () => {
    await givenFailure('raced');
    let deliveries = 0;
    const deliver = failureWorkflowHandler(at(0).start);
    const { relay } = relayOf(at(0), {
      [TOPIC]: async (message) => {
        deliveries += 1;
        await deliver(message);
      },
    });
    await Promise.all(Array.from({ length: 10 }, () => relay.runOnce()));
    expect(deliveries).toBe(1);
    expect(await startedBy('raced')).toHaveLength(1);
  });

  it('backs off with a message nobody handles and keeps it as a dead letter; it is never dropped', async () => {
    await givenFailure('unhandled');
    const { relay, failures } = relayOf(at(0), {});
    for (let attempt = 1; attempt <= DELIVERY_ATTEMPTS_MAX; attempt += 1) {
      expect(await relay.runOnce()).toBe(1);
      expect(await relay.runOnce()).toBe(0);
      await becomesDue();
    }
    expect(await relay.runOnce()).toBe(0);
    expect(failures.map(({ dead }) => dead)).toEqual([...Array(DELIVERY_ATTEMPTS_MAX - 1).fill(false), true]);
    const { rows } = await cluster().observer.query(
      'select attempts, dead_at is not null as dead, last_failure from outbox_events where topic = $1',
      [TOPIC],
    );
    expect(rows).toEqual([
      { attempts: DELIVERY_ATTEMPTS_MAX, dead: true, last_failure: expect.stringContaining('no handler') },
    ]);
    await cluster().observer.query('delete from outbox_events');
  });

  it('delivers the others of a batch when one handler fails', async () => {
    const [bad, good] = [await givenFailure('bad_one'), await givenFailure('good_one')];
    const deliver = failureWorkflowHandler(at(0).start);
    const { relay, failures } = relayOf(at(0), {
      [TOPIC]: async (message) => {
        if (message.executionId === bad) throw new Error('the receiver is down');
        await deliver(message);
      },
    });
    expect(await relay.runOnce()).toBe(2);
    expect(failures).toEqual([{ reason: 'the receiver is down', dead: false }]);
    expect(await startedBy('good_one')).toMatchObject([{ input: { workflowId: good } }]);
    expect(await startedBy('bad_one')).toEqual([]);
    await becomesDue();
    expect(await relayOf(at(0), { [TOPIC]: deliver }).relay.runOnce()).toBe(1);
    expect(await startedBy('bad_one')).toHaveLength(1);
  });

  it('owes nothing of a pass that rolled back', async () => {
    const before = await countOf(cluster().observer, 'select count(*) from outbox_events');
    await registerWorkflow(at(0), {
      ...chain('rolled_back', 1, 'rolled_back', { retryCount: 0 }),
      failureWorkflow: 'x',
    });
    await startRun(at(1), 'rolled_back');
    await reportOne(at(0), await leaseOne(at(0), 'rolled_back'), { status: 'FAILED' });
    life.diesAfter = 'putMessages';
    await expect(at(1).evaluator.runOnce()).rejects.toThrow(SimulatedCrash);
    delete life.diesAfter;
    life.isDead = false;
    expect(await countOf(cluster().observer, 'select count(*) from outbox_events')).toBe(before);
    await at(1).evaluateAll();
    expect(await countOf(cluster().observer, 'select count(*) from outbox_events')).toBe(before + 1);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });
});
