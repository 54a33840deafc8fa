import { describe, expect, it } from 'vitest';
import { ALPHA, BETA, eventsOf, givenExecution, ids, inTx, owed, pausedEvent, rolledBack } from './given.ts';
import { engineHarnesses, useHarness } from './harness.ts';

describe.each(engineHarnesses)('the event log over $name', (harness) => {
  const open = useHarness(harness);

  const givenEvents = async (count: number) => {
    const executionId = await givenExecution(open());
    const at = await open().engine.now();
    const events = Array.from({ length: count }, (_, index) => pausedEvent(index + 1, at, `by-${index + 1}`));
    await inTx(open().engine, (tx) => tx.appendEvents(events.map((event) => owed(executionId, event))));
    return { executionId, events, at };
  };

  it('gives back what was appended, in seq order', async () => {
    const { executionId, events } = await givenEvents(12);
    expect(await eventsOf(open(), executionId)).toEqual(events);
  });

  it('keeps every text exactly, line breaks and quotes too', async () => {
    const executionId = await givenExecution(open());
    const at = await open().engine.now();
    const texts = ['a\nb\r\nc', '\\n "quoted" {,}', '\u2028\u0001', 'naïve 🧪', ''];
    const events = texts.map((by, index) => pausedEvent(index + 1, at, by));
    await inTx(open().engine, (tx) => tx.appendEvents(events.map((event) => owed(executionId, event))));
    expect(await eventsOf(open(), executionId)).toEqual(events);
  });

  it('reads only what follows the given seq, for each run by its own', async () => {
    const first = await givenEvents(3);
    const second = await givenEvents(2);
    const after = new Map([
      [first.executionId, 1],
      [second.executionId, 2],
    ]);
    const read = await inTx(open().engine, (tx) => tx.readEvents(after));
    expect(read.get(first.executionId)).toEqual(first.events.slice(1));
    expect(read.get(second.executionId) ?? []).toEqual([]);
  });

  it('reads nothing of a run without a log', async () => {
    expect(await eventsOf(open(), ids.executionId())).toEqual([]);
  });

  it('sees its own appends within the transaction', async () => {
    const { executionId, events, at } = await givenEvents(1);
    await inTx(open().engine, async (tx) => {
      await tx.appendEvents([owed(executionId, pausedEvent(2, at))]);
      const read = await tx.readEvents(new Map([[executionId, 0]]));
      expect(read.get(executionId)).toEqual([...events, pausedEvent(2, at)]);
    });
  });

  it('throws on a seq that exists already and keeps the first', async () => {
    const { executionId, events, at } = await givenEvents(2);
    const append = inTx(open().engine, (tx) => tx.appendEvents([owed(executionId, pausedEvent(2, at, 'intruder'))]));
    await expect(append).rejects.toThrow();
    expect(await eventsOf(open(), executionId)).toEqual(events);
  });

  it('throws when one batch holds a seq twice, and appends none of it', async () => {
    const { executionId, events, at } = await givenEvents(1);
    const twice = [pausedEvent(2, at), pausedEvent(2, at)].map((event) => owed(executionId, event));
    await expect(inTx(open().engine, (tx) => tx.appendEvents(twice))).rejects.toThrow();
    expect(await eventsOf(open(), executionId)).toEqual(events);
  });

  it('forgets events that were rolled back, and takes their seq again', async () => {
    const { executionId, events, at } = await givenEvents(1);
    await rolledBack(open().engine, (tx) => tx.appendEvents([owed(executionId, pausedEvent(2, at, 'undone'))]));
    expect(await eventsOf(open(), executionId)).toEqual(events);
    await inTx(open().engine, (tx) => tx.appendEvents([owed(executionId, pausedEvent(2, at, 'done'))]));
    expect(await eventsOf(open(), executionId, 1)).toEqual([pausedEvent(2, at, 'done')]);
  });

  it('keeps payloads exactly: nesting, unicode, empty keys, nulls, large numbers', async () => {
    const executionId = await givenExecution(open());
    const output = { '': null, 'ключ 🔑': ['', { deep: [[1.5e300, -0.25, 9007199254740991]] }], quote: `'"\\\n\u2028` };
    const event = {
      type: 'SignalBuffered',
      at: await open().engine.now(),
      ref: 'r',
      output,
      status: 'COMPLETED',
    } as const;
    await inTx(open().engine, (tx) => tx.appendEvents([owed(executionId, { seq: 1, event })]));
    expect(await eventsOf(open(), executionId)).toEqual([{ seq: 1, event }]);
  });

  it('pages history after a seq', async () => {
    const { executionId, events } = await givenEvents(5);
    expect(await open().index.history(ALPHA, executionId, 0, 2)).toEqual(events.slice(0, 2));
    expect(await open().index.history(ALPHA, executionId, 2, 2)).toEqual(events.slice(2, 4));
    expect(await open().index.history(ALPHA, executionId, 5, 2)).toEqual([]);
  });

  it('shows no history to another namespace', async () => {
    const { executionId } = await givenEvents(1);
    expect(await open().index.history(BETA, executionId, 0, 10)).toEqual([]);
  });

  it('tells the seq of the last event, to its namespace only', async () => {
    const { executionId } = await givenEvents(12);
    expect(await open().index.lastSeq(ALPHA, executionId)).toBe(12);
    expect(await open().index.lastSeq(BETA, executionId)).toBeUndefined();
    expect(await open().index.lastSeq(ALPHA, ids.executionId())).toBeUndefined();
  });
});
