import { describe, expect, test } from 'vitest';
import type { HttpLimits } from '../../../src/adapters/http/limits.ts';
import type { StreamItem } from '../../../src/application/use-cases.ts';
import { ok } from '../../../src/domain/kernel/result.ts';
import type { Overrides } from './support/fake-use-cases.ts';
import { type Fixture, startFixture } from './support/http-fixture.ts';
import { RawSocket } from './support/raw-socket.ts';
import { DETAIL, NAMESPACE, RUN } from './support/samples.ts';

const ns = `/v1/ns/${NAMESPACE}`;

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Polls, waits and streams that only an abort ends, and a signal for when one of them has begun. */
const parked = () => {
  const begun = Promise.withResolvers<void>();
  const overrides: Overrides = {
    workers: {
      lease: async ({ signal }) => {
        begun.resolve();
        await aborted(signal);
        return ok([]);
      },
    },
    executions: {
      wait: async (_, __, { signal }) => {
        begun.resolve();
        await aborted(signal);
        return ok(DETAIL);
      },
      stream: async (_, __, ___, signal) => ok(untilAborted(signal, begun.resolve)),
    },
  };
  return { begun: begun.promise, overrides };
};

async function* untilAborted(signal: AbortSignal, begin: () => void): AsyncGenerator<StreamItem> {
  yield { kind: 'note', note: {} };
  begin();
  await aborted(signal);
}

const start = async (overrides: Overrides, limits: Partial<HttpLimits> = {}) => {
  const fixture = await startFixture({ overrides, limits });
  return { fixture, key: await fixture.key(['admin']) };
};

const requestText = (method: string, path: string, key: string, body?: string): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${key}`,
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
    '',
    body ?? '',
  ].join('\r\n');

const sendRaw = async (fixture: Fixture, text: string): Promise<RawSocket> => {
  const raw = await RawSocket.open(fixture.server.port);
  raw.write(text);
  return raw;
};

describe('a server that stops', () => {
  test('answers a parked poll at once, without tasks', async () => {
    const { begun, overrides } = parked();
    const { fixture, key } = await start(overrides);
    const json = { workerId: 'w', waitSeconds: 60 };
    const poll = fixture.send('POST', `${ns}/queues/bill/lease`, { key, json });
    await begun;
    await fixture.server.stop();
    const answer = await poll;
    expect([answer.status, answer.json]).toEqual([200, { tasks: [] }]);
    expect(answer.headers.get('connection')).toBe('close');
  });

  test('answers a parked wait with the state so far', async () => {
    const { begun, overrides } = parked();
    const { fixture, key } = await start(overrides);
    const wait = fixture.send('POST', `${ns}/executions/order/execute`, { key, json: { waitSeconds: 60 } });
    await begun;
    await fixture.server.stop();
    expect((await wait).json).toMatchObject({ workflowId: RUN, status: 'RUNNING' });
  });

  test('ends a stream and its connection', async () => {
    const { begun, overrides } = parked();
    const { fixture, key } = await start(overrides);
    const reader = await sendRaw(fixture, requestText('GET', `${ns}/executions/${RUN}/stream`, key));
    await begun;
    await fixture.server.stop();
    await reader.closed;
    expect(reader.text).toContain('event: note');
  });

  test('closes idle connections and accepts no new ones', async () => {
    const { fixture } = await start({});
    const idle = await sendRaw(fixture, requestText('GET', '/health', ''));
    await idle.until(/200 OK/);
    const silent = await RawSocket.open(fixture.server.port);
    await fixture.server.stop();
    await Promise.all([idle.closed, silent.closed]);
    await expect(RawSocket.open(fixture.server.port)).rejects.toThrow('ECONNREFUSED');
  });

  test('refuses a request that follows on a busy connection with 503 and a time to come back', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const { fixture, key } = await start({
      workers: {
        queues: async () => {
          begun.resolve();
          await promise;
          return ok([]);
        },
      },
    });
    const busy = await sendRaw(fixture, requestText('GET', `${ns}/queues`, key));
    await begun.promise;
    const second = await sendRaw(fixture, `${requestText('GET', '/health', key).slice(0, -2)}X-Late: `);
    await fixture.send('GET', '/health');
    const stopped = fixture.server.stop();
    second.write('1\r\n\r\n');
    await second.until(/503 Service Unavailable[\s\S]*retry-after: 1[\s\S]*"error":"UNAVAILABLE"/);
    resolve();
    await Promise.all([stopped, busy.closed]);
    expect(busy.text).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\{"queues":\[\]\}$/);
  });

  test('cuts what does not end when its time is up, and stops once however often it is told', async () => {
    const begun = Promise.withResolvers<void>();
    const stuck = () => {
      begun.resolve();
      return new Promise<never>(() => undefined);
    };
    const { fixture, key } = await start({ workers: { queues: stuck } }, { stopTimeoutMs: 50 });
    const reader = await sendRaw(fixture, requestText('GET', `${ns}/queues`, key));
    await begun.promise;
    await Promise.all([fixture.server.stop(), fixture.server.stop()]);
    await reader.closed;
    expect(reader.text).toBe('');
  });
});

test('a worker that goes away while it waits is told to the use case, which gives its tasks back', async () => {
  const begun = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const { fixture, key } = await start({
    workers: {
      lease: async ({ signal }) => {
        begun.resolve();
        await aborted(signal);
        gone.resolve();
        return ok([]);
      },
    },
  });
  const worker = await sendRaw(
    fixture,
    requestText('POST', `${ns}/queues/bill/lease`, key, '{"workerId":"w","waitSeconds":60}'),
  );
  await begun.promise;
  worker.socket.destroy();
  await gone.promise;
  await fixture.server.stop();
});
