import { afterEach, describe, expect, test } from 'vitest';
import type { HttpLimits } from '../../../src/adapters/http/limits.ts';
import type { StreamItem } from '../../../src/application/use-cases.ts';
import { ok } from '../../../src/domain/kernel/result.ts';
import { streamOf } from './support/fake-use-cases.ts';
import { type Fixture, startFixture } from './support/http-fixture.ts';
import { RawSocket } from './support/raw-socket.ts';
import { logOf, NAMESPACE, RUN } from './support/samples.ts';

const STREAM = `/v1/ns/${NAMESPACE}/executions/${RUN}/stream`;

type Source = (after: number, signal: AbortSignal) => AsyncIterable<StreamItem>;

let fixture: Fixture;
let key: string;

afterEach(() => fixture.server.stop());

const serve = async (source: Source, limits: Partial<HttpLimits> = {}): Promise<void> => {
  const stream: Fixture['useCases']['executions']['stream'] = async (_, __, after, signal) => ok(source(after, signal));
  fixture = await startFixture({ limits, overrides: { executions: { stream } } });
  key = await fixture.key(['executions:read']);
};

const serveLog = (count: number) => serve((after) => streamOf(logOf(count), after));
const idsOf = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));

/** Items until the test says so: nothing, then the end. */
const openEnded = (released: Promise<void>): Source =>
  async function* (_after, signal) {
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([released, aborted]);
    yield { kind: 'end' };
  };

const raw = async (headers: readonly string[] = []): Promise<RawSocket> => {
  const socket = await RawSocket.open(fixture.server.port);
  socket.write([`GET ${STREAM} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, ...headers, '', ''].join('\r\n'));
  return socket;
};

describe('a stream', () => {
  test('tells every fact once, in order, and ends after the terminal one', async () => {
    await serveLog(50);
    const { text, headers } = await fixture.send('GET', STREAM, { key });
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(idsOf(text)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    expect(text).toMatch(
      /event: ExecutionClosed\ndata: \{.*"output":\{"count":50\}.*\}\n\nevent: end\ndata: \{\}\n\n$/,
    );
  });

  test('goes on after the id a reader saw last', async () => {
    await serveLog(5);
    expect(idsOf((await fixture.send('GET', STREAM, { key, headers: { 'last-event-id': '3' } })).text)).toEqual([4, 5]);
    expect(idsOf((await fixture.send('GET', `${STREAM}?after=4`, { key })).text)).toEqual([5]);
  });

  test('trusts the id of a reconnect over the address it first asked', async () => {
    await serveLog(5);
    const answer = await fixture.send('GET', `${STREAM}?after=1`, { key, headers: { 'last-event-id': '4' } });
    expect(idsOf(answer.text)).toEqual([5]);
  });

  test.each(['abc', '-1', '1.5', '1e3', ' ', '9'.repeat(31), ''])('refuses the position "%s"', async (position) => {
    await serveLog(5);
    const byQuery = await fixture.send('GET', `${STREAM}?after=${encodeURIComponent(position)}`, { key });
    expect([byQuery.status, byQuery.json.error]).toEqual([400, 'INVALID_CURSOR']);
    const byHeader = await fixture.send('GET', STREAM, { key, headers: { 'last-event-id': position } });
    expect([byHeader.status, byHeader.json.error]).toEqual([400, 'INVALID_CURSOR']);
  });

  test('gives live notes no id, so that nobody resumes from one', async () => {
    await serve(async function* () {
      yield { kind: 'note', note: { taskRef: 'bill', progress: 0.5 } };
      yield { kind: 'end' };
    });
    const { text } = await fixture.send('GET', STREAM, { key });
    expect(text).toContain('event: note\ndata: {"taskRef":"bill","progress":0.5}\n\n');
    expect(idsOf(text)).toEqual([]);
  });

  test('that has nothing to tell is kept alive by comments', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await serve(openEnded(promise), { streamHeartbeatMs: 5 });
    const reader = await raw();
    await reader.until(/:\n\n[\s\S]*:\n\n/);
    resolve();
    await reader.until(/event: end/);
    await reader.closed;
  });

  test('answers HEAD without beginning', async () => {
    await serve(openEnded(new Promise(() => undefined)));
    expect((await fixture.send('HEAD', STREAM, { key })).status).toBe(200);
  });

  test('that breaks is cut, so that the reader resumes and does not take it for the end', async () => {
    const seen = Promise.withResolvers<void>();
    await serve(async function* () {
      for (const entry of logOf(2).slice(0, 1)) yield { kind: 'event', entry };
      await seen.promise;
      throw new Error('the database went away');
    });
    const reader = await raw();
    await reader.until(/id: 1/);
    seen.resolve();
    await reader.closed;
    expect(reader.text).not.toMatch(/\r\n0\r\n\r\n$/);
    expect(fixture.logLines.some(({ level }) => level === 'error')).toBe(true);
  });
});

describe('a reader', () => {
  const FRAME_CHARS = 65_536;

  /** Endless notes; counts how many were asked for. */
  const endless = () => {
    const state = { pulled: 0, ended: Promise.withResolvers<void>() };
    const source: Source = async function* (_after, signal) {
      try {
        while (!signal.aborted) {
          state.pulled += 1;
          yield { kind: 'note', note: { text: 'x'.repeat(FRAME_CHARS) } };
        }
      } finally {
        state.ended.resolve();
      }
    };
    return { state, source };
  };

  test('that takes nothing is not read ahead for, and is cut after a while', async () => {
    const { state, source } = endless();
    await serve(source, { streamStallMs: 100 });
    const reader = await raw();
    reader.socket.pause();
    await state.ended.promise;
    // What fits into socket buffers, a few megabytes at most, and not one item more.
    expect(state.pulled * FRAME_CHARS).toBeLessThan(32 * 1_048_576);
    reader.socket.resume();
    await reader.closed;
  });

  test('that goes away ends the stream behind it', async () => {
    const { state, source } = endless();
    await serve(source);
    const reader = await raw();
    await reader.until(/event: note/);
    reader.socket.destroy();
    await state.ended.promise;
  });

  test('may have so many streams at once and no more, until one ends', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await serve(openEnded(promise), { streamsPerPrincipalMax: 2 });
    const readers = [await raw(), await raw()];
    await Promise.all(readers.map((reader) => reader.until(/200 OK/)));
    const refused = await fixture.send('GET', STREAM, { key });
    expect([refused.status, refused.json.error, refused.headers.get('retry-after')]).toEqual([
      429,
      'LIMIT_EXCEEDED',
      '1',
    ]);
    const other = await fixture.key(['executions:read']);
    key = other;
    const another = await raw();
    await another.until(/200 OK/);
    resolve();
    await Promise.all([...readers, another].map((reader) => reader.closed));
    expect((await fixture.send('GET', STREAM, { key })).status).toBe(200);
  });
});
