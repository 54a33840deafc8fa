import { describe, expect, it } from 'vitest';
import { failureWorkflowHandler } from '../../../src/application/failure-workflow.ts';
import type { InternalHandler, MessageHandler } from '../../../src/application/message-handler.ts';
import { DELIVERY_ATTEMPTS_MAX, RelayOutbox } from '../../../src/application/relay-outbox.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { OutboxMessage } from '../../../src/ports/engine-store.ts';
import { NAMESPACE, type TestServer, useCluster } from '../../support/engine.ts';
import { type Life, mortal, SimulatedCrash } from '../../support/faults.ts';
import { violations } from '../../support/invariants.ts';
import { registerWorkflow, startRun, statusOf } from '../../support/runs.ts';
import { leaseOne, reportOne } from '../../support/workers.ts';
import { chain } from './definitions.ts';
import { countOf } from './given.ts';

const TOPIC = 'start-failure-workflow';
const life: Life = { isDead: false };

/** A handler that a test looks over the shoulder of. */
const watched = (handler: InternalHandler, see: (message: OutboxMessage) => void): InternalHandler => ({
  kind: 'internal',
  handle: async (tx, message) => {
    see(message);
    return handler.handle(tx, message);
  },
});

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
      {
        correlationId: 'c-composed',
        input: {
          order: 7,
          workflowId: id,
          failureStatus: 'FAILED',
          failedWorkflow: { workflowId: id, status: 'FAILED', tasks: [{ status: 'FAILED' }] },
        },
      },
    ]);
    const failed = await at(0).index.find(NAMESPACE, id);
    expect(failed?.output?.['conductor.failure_workflow']).toBe((await startedBy('composed'))[0]?.executionId);
    expect(await reportOne(at(0), task)).toBe('settled');
    await at(0).evaluateAll();
    expect(await countOf(cluster().observer, 'select count(*) from outbox_events')).toBe(0);
    expect(at(0).problems).toEqual([]);
  });

  it('commits the effect and the delivery together: a relay that dies after both, before the commit, has done neither', async () => {
    await givenFailure('redelivered');
    const { relay } = relayOf(at(1), { [TOPIC]: failureWorkflowHandler(at(0).startInTransaction) });
    life.diesAfter = 'markDelivered';
    await expect(relay.runOnce()).rejects.toThrow(SimulatedCrash);
    delete life.diesAfter;
    life.isDead = false;
    expect(await startedBy('redelivered')).toHaveLength(0);
    expect(await countOf(cluster().observer, 'select count(*) from outbox_events')).toBe(1);
    await becomesDue();
    expect(await relay.runOnce()).toBe(1);
    expect(await startedBy('redelivered')).toHaveLength(1);
    expect(await countOf(cluster().observer, 'select count(*) from outbox_events')).toBe(0);
  });

  it('hands one message to one relay at a time, and ten at once start the failure workflow once', async () => {
    await givenFailure('raced');
    let deliveries = 0;
    const deliver = failureWorkflowHandler(at(0).startInTransaction);
    const { relay } = relayOf(at(0), {
      [TOPIC]: watched(deliver, () => {
        deliveries += 1;
      }),
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
    const deliver = failureWorkflowHandler(at(0).startInTransaction);
    const { relay, failures } = relayOf(at(0), {
      [TOPIC]: watched(deliver, (message) => {
        if (message.executionId === bad) throw new Error('the receiver is down');
      }),
    });
    expect(await relay.runOnce()).toBe(2);
    expect(failures).toEqual([{ reason: 'the receiver is down', dead: false }]);
    expect(await startedBy('good_one')).toMatchObject([{ input: { workflowId: good } }]);
    expect(await startedBy('bad_one')).toEqual([]);
    await becomesDue();
    expect(await relayOf(at(0), { [TOPIC]: deliver }).relay.runOnce()).toBe(1);
    expect(await startedBy('bad_one')).toHaveLength(1);
  });

  it('does nothing a second time when a slow relay ends after another took the message over', async () => {
    await givenFailure('overtaken');
    const deliver = failureWorkflowHandler(at(0).startInTransaction);
    const reached = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    let effects = 0;
    const counting: InternalHandler = {
      kind: 'internal',
      handle: async (tx, message) => {
        const after = await deliver.handle(tx, message);
        return () => {
          effects += 1;
          after();
        };
      },
    };
    const slow = relayOf(at(1), {
      [TOPIC]: {
        kind: 'internal',
        handle: async (tx, message) => {
          reached.resolve();
          await goOn.promise;
          return counting.handle(tx, message);
        },
      },
    });
    const slowTurn = slow.relay.runOnce();
    await reached.promise;
    await becomesDue();
    expect(await relayOf(at(0), { [TOPIC]: counting }).relay.runOnce()).toBe(1);
    goOn.resolve();
    await slowTurn;
    expect({ effects, failures: slow.failures }).toEqual({ effects: 1, failures: [] });
    expect(await startedBy('overtaken')).toHaveLength(1);
  });

  it('delivers what leaves the database outside of any transaction, and marks it afterwards', async () => {
    const id = await givenFailure('leaving');
    const seen: string[] = [];
    const { relay } = relayOf(at(0), {
      [TOPIC]: {
        kind: 'external',
        deliver: async (message) => {
          const { rows } = await cluster().observer.query(
            "select count(*)::int as n from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
          );
          seen.push(`${message.executionId} ${rows[0]?.n}`);
        },
      },
    });
    expect(await relay.runOnce()).toBe(1);
    expect(seen).toEqual([`${id} 0`]);
    expect(await countOf(cluster().observer, 'select count(*) from outbox_events')).toBe(0);
  });

  it('never lets a message overtake an earlier one of its key, whatever fails; a dead letter leaves the line', async () => {
    const id = await givenFailure('in_order');
    const put = (key: string, n: number) =>
      at(0).engine.transaction((tx) =>
        tx.putMessages([
          {
            namespace: NAMESPACE,
            executionId: id,
            item: {
              type: 'PublishMessage',
              topic: TOPIC,
              dedupKey: `${key}${n}`,
              orderingKey: key,
              payload: {},
            },
          },
        ]),
      );
    await cluster().observer.query('delete from outbox_events');
    for (let n = 1; n <= 4; n += 1) for (const key of ['a', 'b', 'c']) await put(key, n);
    const order: string[] = [];
    const tries = new Map<string, number>();
    const flaky: MessageHandler = {
      kind: 'external',
      deliver: async ({ dedupKey }) => {
        tries.set(dedupKey, (tries.get(dedupKey) ?? 0) + 1);
        if (dedupKey === 'b2' || (dedupKey.startsWith('a') && tries.get(dedupKey) === 1)) throw new Error('not yet');
        order.push(dedupKey);
      },
    };
    const relays = [0, 1].map((n) => relayOf(at(n), { [TOPIC]: flaky }).relay);
    for (let round = 0; round < 40 && order.length < 11; round += 1) {
      await Promise.all(relays.map((relay) => relay.runOnce()));
      await becomesDue();
    }
    const of = (key: string) => order.filter((dedupKey) => dedupKey.startsWith(key));
    expect([of('a'), of('b'), of('c')]).toEqual([
      ['a1', 'a2', 'a3', 'a4'],
      ['b1', 'b3', 'b4'],
      ['c1', 'c2', 'c3', 'c4'],
    ]);
    expect(tries.get('b2')).toBe(DELIVERY_ATTEMPTS_MAX);
    await cluster().observer.query('delete from outbox_events');
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
