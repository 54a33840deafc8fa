import { describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { NAMESPACE, type TestServer, useCluster } from '../../support/engine.ts';
import { createGate } from '../../support/faults.ts';
import { eventsOf, registerWorkflow, startRun, whenEnded } from '../../support/runs.ts';
import { leaseOne, reportOne, startWorker } from '../../support/workers.ts';
import { chain, fanOut } from './definitions.ts';

type Tape = { seqs: number[]; types: string[]; ended: boolean };

/** Reads from after `after` until the end, or until `limit` events have come; then the connection is cut. */
const read = async (
  server: TestServer,
  id: ExecutionId,
  after: number,
  limit = Number.POSITIVE_INFINITY,
  signal = AbortSignal.timeout(25_000),
): Promise<Tape> => {
  const tape: Tape = { seqs: [], types: [], ended: false };
  const opened = await server.useCases.executions.stream(NAMESPACE, id, after, signal);
  if (!opened.ok) throw new Error(opened.error.message);
  if (limit === 0) return tape;
  for await (const item of opened.value) {
    if (item.kind === 'end') tape.ended = true;
    if (item.kind !== 'event') continue;
    tape.seqs.push(item.entry.seq);
    tape.types.push(item.entry.event.type);
    if (tape.seqs.length >= limit) break;
  }
  return tape;
};

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

const afterPage = createGate();

describe('a stream', () => {
  const { at } = useCluster(
    { notify: true, poolMax: 24 },
    { notify: true, poolMax: 24 },
    {
      reads: (index) => ({
        ...index,
        history: async (...range) => {
          const page = await index.history(...range);
          await afterPage.pass();
          return page;
        },
      }),
    },
  );

  it('cut and resumed at every seq, on another server, while the run goes on, shows every event once and in order', async () => {
    await registerWorkflow(at(0), fanOut('streamed', 3, 3));
    const id = await startRun(at(0), 'streamed');
    // Start, fork, join opened and closed, end; each of nine steps twice.
    const last = 5 + 2 * 9;
    const readers = Array.from({ length: last }, async (_, cut) => {
      const before = await read(at(cut % 2), id, 0, cut);
      const after = await read(at((cut + 1) % 2), id, before.seqs.at(-1) ?? 0);
      return { seqs: [...before.seqs, ...after.seqs], ended: after.ended };
    });
    at(1).startLoops('evaluate');
    const worker = startWorker(at(0), ['streamed'], { count: 1 });
    const tapes = await Promise.all(readers);
    await worker.stop();
    await at(1).stopLoops();
    expect(await eventsOf(at(0), id)).toHaveLength(last);
    for (const tape of tapes) expect(tape).toEqual({ seqs: upTo(last), ended: true });
  });

  it('ends at the fact that ends the run, and goes on with a run that is retried', async () => {
    await registerWorkflow(at(0), chain('stream_retried', 1, 'stream_retried', { retryCount: 0 }));
    const id = await startRun(at(0), 'stream_retried');
    const first = read(at(1), id, 0);
    const task = await leaseOne(at(0), 'stream_retried');
    expect(await reportOne(at(0), task, { status: 'FAILED' })).toBe('settled');
    await at(0).evaluateAll();
    const failed = ['ExecutionStarted', 'TaskScheduled', 'TaskClosed', 'ExecutionClosed'];
    expect(await first).toEqual({ seqs: upTo(4), types: failed, ended: true });
    expect(await read(at(1), id, 4)).toEqual({ seqs: [], types: [], ended: true });

    expect(await at(0).useCases.executions.retry(NAMESPACE, id, 'test')).toMatchObject({ ok: true });
    const second = read(at(1), id, 4);
    const whole = read(at(1), id, 0);
    expect(await reportOne(at(0), await leaseOne(at(0), 'stream_retried'))).toBe('settled');
    await at(0).evaluateAll();
    expect(await whenEnded(at(0), id)).toBe('COMPLETED');
    const retried = ['ExecutionRetried', 'TaskScheduled', 'TaskClosed', 'ExecutionClosed'];
    expect(await second).toEqual({ seqs: [5, 6, 7, 8], types: retried, ended: true });
    expect(await whole).toEqual({ seqs: upTo(8), types: [...failed, ...retried], ended: true });
  });

  it('whose run ends between its look at the log and its look at the run still shows the last facts', async () => {
    await registerWorkflow(at(0), chain('closing', 1));
    const id = await startRun(at(0), 'closing');
    const task = await leaseOne(at(0), 'closing');
    const held = afterPage.close();
    const tape = read(at(2), id, 0);
    await held;
    expect(await reportOne(at(0), task)).toBe('settled');
    await at(0).evaluateAll();
    expect(await whenEnded(at(0), id)).toBe('COMPLETED');
    afterPage.open();
    expect(await tape).toMatchObject({ seqs: upTo(4), ended: true });
  });

  it('from beyond the log is refused, and of an unknown run there is none', async () => {
    await registerWorkflow(at(0), chain('short', 1));
    const id = await startRun(at(0), 'short');
    const signal = new AbortController().signal;
    expect(await at(0).useCases.executions.stream(NAMESPACE, id, 3, signal)).toMatchObject({
      error: { code: 'INVALID_CURSOR' },
    });
    const unknown = '01900000-0000-7000-8000-000000000000' as ExecutionId;
    expect(await at(0).useCases.executions.stream(NAMESPACE, unknown, 0, signal)).toMatchObject({
      error: { code: 'NOT_FOUND' },
    });
  });
});
