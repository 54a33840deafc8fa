import { describe, expect, it } from 'vitest';
import { addMs, type ExecutionId } from '../../src/domain/kernel/brand.ts';
import type { DeliveryFailure, PublishMessage } from '../../src/ports/engine-store.ts';
import { ALPHA, BETA, givenExecution, inTx, messageOf, owed, rolledBack } from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

/** Most tests look at what is deliverable: nothing they claim stays in hand. */
const HOLD_MS = 0;

describe.each(engineHarnesses)('the outbox over $name', (harness) => {
  const open = useHarness(harness);
  const claim = (limit = 10) => inTx(open().engine, (tx) => tx.claimMessages(limit, HOLD_MS));
  const claimedKeys = async (limit = 10) => (await claim(limit)).map((message) => message.dedupKey);

  const put = (executionId: ExecutionId, ...messages: readonly PublishMessage[]) =>
    inTx(open().engine, (tx) => tx.putMessages(messages.map((message) => owed(executionId, message))));

  const fail = async (overrides: Partial<DeliveryFailure> = {}) => {
    await inTx(open().engine, async (tx) => {
      const [message] = await tx.claimMessages(1, HOLD_MS);
      const failure = {
        id: message?.id ?? '',
        reason: 'receiver down',
        retryAfterMs: 1_000,
        dead: false,
        ...overrides,
      };
      await tx.markFailed([failure]);
    });
  };

  it('hands out what was put, whole', async () => {
    const executionId = await givenExecution(open());
    await put(executionId, messageOf('m-1', { payload: { text: 'naïve 🧪', list: [1, null] } }));
    expect(await claim()).toMatchObject([
      {
        namespace: ALPHA,
        executionId,
        topic: 'start-failure-workflow',
        dedupKey: 'm-1',
        orderingKey: 'order-1',
        payload: { text: 'naïve 🧪', list: [1, null] },
        attempts: 0,
      },
    ]);
  });

  it('hands out a message again until it is marked delivered', async () => {
    await put(await givenExecution(open()), messageOf('m-1'));
    const [message] = await claim();
    expect(await claimedKeys()).toEqual(['m-1']);
    expect(await inTx(open().engine, (tx) => tx.markDelivered([message?.id ?? '']))).toBe(1);
    expect(await claimedKeys()).toEqual([]);
    expect(await inTx(open().engine, (tx) => tx.markDelivered([message?.id ?? '']))).toBe(0);
  });

  it('keeps what is in hand from others until the hold is over, and then delivers it again', async () => {
    await put(await givenExecution(open()), messageOf('m-1'), messageOf('m-2'));
    const held = await inTx(open().engine, (tx) => tx.claimMessages(10, 60_000));
    expect(held.map((message) => message.dedupKey)).toEqual(['m-1']);
    expect(await claimedKeys()).toEqual([]);
    await open().advance(60_001);
    expect(await claimedKeys()).toEqual(['m-1']);
  });

  it('keeps a message that is visible later until then', async () => {
    const visibleAt = addMs(await open().engine.now(), 60_000);
    await put(await givenExecution(open()), messageOf('m-1', { visibleAt }));
    expect(await claimedKeys()).toEqual([]);
    await open().advance(60_001);
    expect(await claimedKeys()).toEqual(['m-1']);
  });

  it('never hands out what was rolled back', async () => {
    const executionId = await givenExecution(open());
    await rolledBack(open().engine, (tx) => tx.putMessages([owed(executionId, messageOf('m-1'))]));
    expect(await claimedKeys()).toEqual([]);
  });

  it('delivers again what was marked in a transaction that rolled back', async () => {
    await put(await givenExecution(open()), messageOf('m-1'));
    await rolledBack(open().engine, async (tx) => {
      const [message] = await tx.claimMessages(1, HOLD_MS);
      await tx.markDelivered([message?.id ?? '']);
    });
    expect(await claimedKeys()).toEqual(['m-1']);
  });

  it('keeps one message of a cause that is put twice', async () => {
    const executionId = await givenExecution(open());
    await put(executionId, messageOf('m-1'));
    await put(executionId, messageOf('m-1', { orderingKey: 'order-2' }));
    expect(await claimedKeys()).toEqual(['m-1']);
  });

  it('keeps equal dedup keys of two runs apart', async () => {
    await put(await givenExecution(open()), messageOf('m-1', { orderingKey: 'a' }));
    await put(await givenExecution(open()), messageOf('m-1', { orderingKey: 'b' }));
    expect(await claimedKeys()).toEqual(['m-1', 'm-1']);
  });

  it('delivers the messages of one ordering key one after the other, oldest first', async () => {
    await put(await givenExecution(open()), messageOf('m-1'), messageOf('m-2'));
    const [first] = await claim();
    expect(first?.dedupKey).toBe('m-1');
    expect(await claimedKeys()).toEqual(['m-1']);
    await inTx(open().engine, (tx) => tx.markDelivered([first?.id ?? '']));
    expect(await claimedKeys()).toEqual(['m-2']);
  });

  it('delivers different ordering keys side by side, oldest first, at most the limit', async () => {
    const keys = ['a', 'b', 'c'];
    const executionId = await givenExecution(open());
    for (const key of keys) await put(executionId, messageOf(`m-${key}`, { orderingKey: key }));
    expect(await claimedKeys()).toEqual(['m-a', 'm-b', 'm-c']);
    expect(await claimedKeys(2)).toEqual(['m-a', 'm-b']);
  });

  it('keeps equal ordering keys of two namespaces apart', async () => {
    await put(await givenExecution(open()), messageOf('m-alpha'));
    const other = await givenExecution(open(), { namespace: BETA });
    await inTx(open().engine, (tx) => tx.putMessages([owed(other, messageOf('m-beta'), BETA)]));
    expect(await claimedKeys()).toEqual(['m-alpha', 'm-beta']);
  });

  it('tries a failed message again after its delay, and counts', async () => {
    await put(await givenExecution(open()), messageOf('m-1'));
    await fail();
    expect(await claimedKeys()).toEqual([]);
    await open().advance(1_001);
    expect(await claim()).toMatchObject([{ dedupKey: 'm-1', attempts: 1 }]);
  });

  it('keeps the order of a key while its head waits to be tried again', async () => {
    const executionId = await givenExecution(open());
    await put(executionId, messageOf('m-1'), messageOf('m-2'), messageOf('n-1', { orderingKey: 'other' }));
    await fail();
    expect(await claimedKeys()).toEqual(['n-1']);
    await open().advance(1_001);
    expect(await claimedKeys()).toEqual(['m-1', 'n-1']);
  });

  it('prefers a message that was never tried to one whose turn to be tried again comes later', async () => {
    const executionId = await givenExecution(open());
    await put(executionId, messageOf('m-1', { orderingKey: 'a' }));
    await fail();
    await put(executionId, messageOf('m-2', { orderingKey: 'b' }));
    await open().advance(1_001);
    expect(await claimedKeys(1)).toEqual(['m-2']);
  });

  it('steps over a dead letter, and never tries it again', async () => {
    await put(await givenExecution(open()), messageOf('m-1'), messageOf('m-2'));
    await fail({ dead: true });
    expect(await claimedKeys()).toEqual(['m-2']);
    await open().advance(1_001);
    expect(await claimedKeys()).toEqual(['m-2']);
  });

  it('keeps a dead letter: its cause cannot send it a second time', async () => {
    const executionId = await givenExecution(open());
    await put(executionId, messageOf('m-1'));
    await fail({ dead: true });
    await put(executionId, messageOf('m-1'));
    expect(await claimedKeys()).toEqual([]);
  });
});
