import { describe, expect, it } from 'vitest';
import type { EventHandler } from '../../src/domain/event-handler/event-handler.ts';
import type { EngineTx } from '../../src/ports/engine-store.ts';
import type { EventHandlerRow, NewEventHandlerRun } from '../../src/ports/event-handler-store.ts';
import { ALPHA, BETA, inTx } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

const handlerOf = (name: string, given: Partial<EventHandler> = {}): EventHandler => ({
  name,
  event: 'internal:paid',
  active: true,
  condition: '${amount} > 0',
  dedupeId: '${order}',
  actions: [{ type: 'START_WORKFLOW', input: { name: 'ship' }, expandInlineJson: false }],
  dialect: 'v1',
  ...given,
});
const run = (messageId: string, given: Partial<NewEventHandlerRun> = {}): NewEventHandlerRun => ({
  namespace: ALPHA,
  handler: 'a',
  event: 'internal:paid',
  messageId,
  state: 'ACTED',
  actions: [{ action: 'START_WORKFLOW' }],
  ...given,
});

describe.each(harnesses)('event handlers over $name', (harness) => {
  const open = useHarness(harness);
  const tx = <T>(work: (tx: EngineTx) => Promise<T>) => inTx(open().engine, work);
  const put = async (handler: EventHandler, namespace = ALPHA, by = 'key-1') => {
    const now = await open().engine.now();
    const times = { createdAt: now, updatedAt: now, createdBy: by, updatedBy: by };
    return open().eventHandlers.putHandler({ namespace, handler, ...times });
  };
  const names = (rows: readonly EventHandlerRow[]) => rows.map(({ handler }) => handler.name);
  const log = async (handler: string | undefined, limit = 9, before?: string) =>
    open().eventHandlers.listHandlerRuns(ALPHA, handler, { limit, ...(before === undefined ? {} : { before }) });

  it('are kept as they were registered, and replaced by name', async () => {
    const made = await put(handlerOf('a', { description: 'of payments' }));
    expect(made).toMatchObject({ outcome: 'created', row: { createdBy: 'key-1' } });
    expect(await open().eventHandlers.findHandlerRow(ALPHA, 'a')).toEqual(made.row);
    const replaced = await put(handlerOf('a', { active: false }), ALPHA, 'key-2');
    expect(replaced).toMatchObject({ outcome: 'replaced', row: { createdBy: 'key-1', updatedBy: 'key-2' } });
    expect(await tx((t) => t.findHandler(ALPHA, 'a'))).toEqual(handlerOf('a', { active: false }));
    expect(await open().eventHandlers.findHandlerRow(BETA, 'a')).toBeUndefined();
    expect(await tx((t) => t.findHandler(BETA, 'a'))).toBeUndefined();
  });

  it('are found by their event in their namespace, the active ones, by name', async () => {
    await put(handlerOf('b'));
    await put(handlerOf('a'));
    await put(handlerOf('resting', { active: false }));
    await put(handlerOf('other', { event: 'internal:other' }));
    await put(handlerOf('c'), BETA);
    const found = await tx((t) => t.handlersOf(ALPHA, 'internal:paid'));
    expect(found.map(({ name }) => name)).toEqual(['a', 'b']);
    const list = open().eventHandlers.listHandlers;
    expect(names(await list(ALPHA, {}, { limit: 2 }))).toEqual(['a', 'b']);
    expect(names(await list(ALPHA, {}, { limit: 2, after: 'b' }))).toEqual(['other', 'resting']);
    expect(names(await list(ALPHA, { event: 'internal:paid', active: true }, { limit: 9 }))).toEqual(['a', 'b']);
    expect(names(await list(ALPHA, { active: false }, { limit: 9 }))).toEqual(['resting']);
  });

  it('log what each message did, the last word of it, and keep the newest', async () => {
    await put(handlerOf('a'));
    const record = (entry: NewEventHandlerRun) => tx((t) => t.recordEventHandlerRun(entry, 2));
    await record(run('m1', { state: 'FAILED', reason: 'no such workflow', actions: [] }));
    expect(await log('a')).toMatchObject([{ messageId: 'm1', state: 'FAILED', reason: 'no such workflow' }]);
    await record(run('m1'));
    const [first] = await log('a');
    expect(first).toMatchObject(run('m1'));
    expect(first?.reason).toBeUndefined();
    await record(run('m2'));
    await record(run('m3'));
    await record(run('m9', { handler: 'b' }));
    const newest = await log('a');
    expect(newest.map(({ messageId }) => messageId)).toEqual(['m3', 'm2']);
    expect((await log('a', 9, newest[0]?.id)).map(({ messageId }) => messageId)).toEqual(['m2']);
    expect((await log(undefined)).map(({ messageId }) => messageId)).toEqual(['m9', 'm3', 'm2']);
    expect(await open().eventHandlers.listHandlerRuns(BETA, undefined, { limit: 9 })).toEqual([]);
    expect(await open().eventHandlers.deleteHandler(ALPHA, 'a')).toBe(true);
    expect(await open().eventHandlers.deleteHandler(ALPHA, 'a')).toBe(false);
    expect((await log(undefined)).map(({ messageId }) => messageId)).toEqual(['m9']);
  });

  it('remember an id for a while, by namespace and handler', async () => {
    const claim = (handler: string, dedupeId: string, namespace = ALPHA) =>
      tx((t) => t.claimEventDedupe({ namespace, handler, dedupeId }, 60_000));
    expect([await claim('a', '7'), await claim('a', '7'), await claim('a', '8'), await claim('b', '7')]).toEqual([
      true,
      false,
      true,
      true,
    ]);
    expect(await claim('a', '7', BETA)).toBe(true);
    await open().advance(61_000);
    expect([await claim('a', '7'), await claim('a', '7')]).toEqual([true, false]);
  });

  it('leave nothing behind of a transaction that rolls back', async () => {
    const failing = tx(async (t) => {
      await t.recordEventHandlerRun(run('m1'), 10);
      await t.claimEventDedupe({ namespace: ALPHA, handler: 'a', dedupeId: '7' }, 60_000);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await log(undefined)).toEqual([]);
    expect(await tx((t) => t.claimEventDedupe({ namespace: ALPHA, handler: 'a', dedupeId: '7' }, 60_000))).toBe(true);
  });

  it('hear of events that have no run', async () => {
    const event = { namespace: ALPHA, sink: 'internal:paid', messageId: 'm1', payload: { order: 7 } };
    await tx((t) => t.recordInternalEvent(event, 10));
    const [found] = await open().index.internalEvents(ALPHA, 'internal:paid', { limit: 9 });
    expect(found).toMatchObject({ messageId: 'm1', payload: { order: 7 } });
    expect(found?.executionId).toBeUndefined();
  });
});
