import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createSecretSeal } from '../../../src/adapters/keys/aes-gcm-seal.ts';
import { createCallbackSeal } from '../../../src/adapters/keys/hmac-callback-seal.ts';
import { secretContext } from '../../../src/application/values/fill-secrets.ts';
import { REDACTED_CHARS_MIN, redacted } from '../../../src/application/values/redact.ts';
import { createSecretUseCases, VALUE_CHARS_MAX } from '../../../src/application/values/value-use-cases.ts';
import type { ExecutionId, Namespace } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { type Step, simple, webhook } from '../../support/builders.ts';
import { NAMESPACE } from '../../support/engine.ts';
import { type MemoryServer, openMemoryServer } from '../../support/memory-server.ts';
import { noCalls } from '../../support/outbound.ts';
import { eventsOf, ofType, startRun, statusOf } from '../../support/runs.ts';
import { sealKey, testSeal } from '../../support/seal.ts';
import { leaseFrom, leaseOne, reportOne } from '../../support/workers.ts';
import { call, scriptedHttp } from '../calls/given.ts';
import { register, taskOf, viewOf } from '../children/given.ts';

const OTHER = 'other' as Namespace;

describe('secrets', () => {
  const door = scriptedHttp();
  let server: MemoryServer;
  let runs = 0;
  beforeAll(async () => {
    server = await openMemoryServer({ outbound: { ...noCalls, http: door.http } });
    await put('api', 's3cret-api');
    await put('account', '{"user":"ada","ports":[8080]}');
  });
  afterAll(() => server.close());

  const put = (name: string, value: string, namespace = NAMESPACE) =>
    server.useCases.secrets.put(namespace, name, value);

  const run = async (tasks: readonly Step[], input: JsonObject = {}): Promise<ExecutionId> => {
    runs += 1;
    await register(server, `secret_${runs}`, tasks);
    return startRun(server, `secret_${runs}`, { input });
  };

  const givenTo = async (inputParameters: JsonObject, input: JsonObject = {}) => {
    const id = await run([simple(`work_${runs + 1}`, { inputParameters })], input);
    const [task] = await leaseFrom(server, [`work_${runs}`]);
    return { id, ref: `work_${runs}`, task, input: task?.input };
  };

  it('are in the copy that a worker gets, as texts, in texts, and where a path leads into their JSON', async () => {
    const { input } = await givenTo({
      whole: '${workflow.secrets.api}',
      text: 'Bearer ${secrets.api}, ${secrets.api}!',
      list: [{ user: '${workflow.secrets.account.user}' }, '${secrets.account.ports[0]}'],
      'odd/key~': '${secrets.api}',
    });
    expect(input).toEqual({
      whole: 's3cret-api',
      text: 'Bearer s3cret-api, s3cret-api!',
      list: [{ user: 'ada' }, 8080],
      'odd/key~': 's3cret-api',
    });
  });

  it('stay the reference that they are wherever the run can be seen', async () => {
    const { id, ref } = await givenTo({ token: '${workflow.secrets.api}' });
    expect((await taskOf(server, id, ref)).input).toEqual({ token: '${workflow.secrets.api}' });
    const told = JSON.stringify([
      await server.index.history(NAMESPACE, id, 0, 100),
      await viewOf(server, id),
      await server.index.openTasks(NAMESPACE, id),
    ]);
    expect(told).not.toContain('s3cret-api');
  });

  it('are never put where data only looks like a reference', async () => {
    const data = '${workflow.secrets.api}';
    const { input } = await givenTo(
      { data: '${workflow.input.x}', beside: 'a ${workflow.input.x} ${secrets.api}' },
      { x: data },
    );
    expect(input).toEqual({ data, beside: `a ${data} s3cret-api` });
    expect((await givenTo({ escaped: '$${secrets.api}' })).input).toEqual({ escaped: '${secrets.api}' });
  });

  it('come from the task definition too, where the step leaves its template open', async () => {
    const inputTemplate = { token: '${secrets.api}', mine: '${secrets.api}' };
    const step = simple('templated', {
      inputParameters: { mine: '${workflow.input.x}' },
      taskDefinition: { name: 'templated', inputTemplate },
    });
    await run([step], { x: '${secrets.api}' });
    expect((await leaseOne(server, 'templated')).input).toEqual({ token: 's3cret-api', mine: '${secrets.api}' });
  });

  it('are filled in for the successor that a report leases on the way, and again for each lease', async () => {
    const step = (ref: string) => simple(ref, { inputParameters: { token: '${secrets.api}' } });
    await run([step('first'), step('second')]);
    const first = await leaseOne(server, 'first');
    const waiting = leaseFrom(server, ['second'], { waitMs: 5_000 });
    await reportOne(server, first);
    const [second] = await waiting;
    expect(second?.input).toEqual({ token: 's3cret-api' });
    await put('api', 's3cret-next');
    await server.engine.transaction((tx) => tx.releaseLeases(NAMESPACE, second === undefined ? [] : [second]));
    expect((await leaseOne(server, 'second')).input).toEqual({ token: 's3cret-next' });
    await put('api', 's3cret-api');
  });

  it('cost a task that names none nothing: neither its fact nor any secret is looked up', async () => {
    const looks = [vi.spyOn(server.values, 'findValues'), vi.spyOn(server.engine, 'findEvent')];
    try {
      await givenTo({ a: 1, b: ['text', { c: 'more' }] });
      expect(looks.map((look) => look.mock.calls.length)).toEqual([0, 0]);
      await givenTo({ a: '${workflow.input.x}' }, { x: '${secrets.api}' });
      expect(looks.map((look) => look.mock.calls.length)).toEqual([0, 1]);
    } finally {
      for (const look of looks) look.mockRestore();
    }
  });

  it('that are not there end the task for good, and a retry finds them once they are', async () => {
    const { id, ref, task } = await givenTo({ token: '${secrets.late}' });
    await server.settle();
    expect(task).toBeUndefined();
    expect(await taskOf(server, id, ref)).toMatchObject({
      status: 'FAILED_WITH_TERMINAL_ERROR',
      reason: 'SECRET_NOT_FOUND: There is no secret late.',
    });
    await put('late', 'now');
    await server.useCases.executions.retry(NAMESPACE, id, 'operator');
    expect((await leaseOne(server, ref)).input).toEqual({ token: 'now' });
  });

  it('of another namespace are not there', async () => {
    await put('foreign', 'x', OTHER);
    const { id, ref } = await givenTo({ token: '${secrets.foreign}' });
    await server.settle();
    expect((await taskOf(server, id, ref)).reason).toContain('SECRET_NOT_FOUND');
  });

  it('that were copied to another name or namespace do not open', async () => {
    const [row] = await server.values.findValues(NAMESPACE, 'SECRET', ['api']);
    const copy = { name: 'copied', value: row?.value ?? '', keyId: 'k1' };
    await server.values.putValue(NAMESPACE, 'SECRET', copy, 100);
    const { id, ref } = await givenTo({ token: '${secrets.copied}' });
    await server.settle();
    expect((await taskOf(server, id, ref)).reason).toContain('SECRET_UNREADABLE');
  });

  it('that this server has no key for fail the attempt, which another server may take', async () => {
    const sealed = createSecretSeal([sealKey('k9')]).seal('x', secretContext(NAMESPACE, 'far')) ?? '';
    await server.values.putValue(NAMESPACE, 'SECRET', { name: 'far', value: sealed, keyId: 'k9' }, 100);
    const { id } = await givenTo({ token: '${secrets.far}' });
    await server.settle();
    const closed = ofType(await eventsOf(server, id), 'TaskClosed').map(({ status, reason }) => [status, reason]);
    const reason = 'SECRET_UNREADABLE: This server has no key that opens the secret far.';
    expect([await statusOf(server, id), closed]).toEqual(['RUNNING', [['FAILED', reason]]]);
  });

  it('into which no path leads end the task', async () => {
    const { id, ref } = await givenTo({ token: '${secrets.api.user}' });
    await server.settle();
    expect((await taskOf(server, id, ref)).reason).toContain('SECRET_INVALID');
  });

  it('are in the call that the server makes, and taken out of an answer that repeats them', async () => {
    door.answers({ headers: { 'x-seen': ['Bearer s3cret-api'] }, body: '{"you":"sent s3cret-api","s3cret-api":1}' });
    const headers = { Authorization: 'Bearer ${secrets.api}' };
    const id = await run([call('c', { headers, query: { key: '${secrets.api}' } })]);
    await server.runLoopOnce('calls');
    await server.settle();
    expect(door.sent[0]?.headers).toContainEqual(['Authorization', 'Bearer s3cret-api']);
    expect(door.sent[0]?.url).toBe('https://api.example.com/?key=s3cret-api');
    expect((await taskOf(server, id, 'c')).output).toMatchObject({
      response: { headers: { 'x-seen': ['Bearer ***'] }, body: { you: 'sent ***', '***': 1 } },
    });
  });

  it('are in what a script of the server sees, and taken out of what it says', async () => {
    const inputParameters = { token: '${secrets.api}', expression: '({ is: $.token.length, says: "x" + $.token })' };
    const id = await run([{ name: 'i', taskReferenceName: 'i', type: 'INLINE', inputParameters }]);
    await server.runLoopOnce('system-tasks');
    await server.settle();
    expect((await taskOf(server, id, 'i')).output).toEqual({ result: { is: 10, says: 'x***' } });
  });

  it('sign the callbacks of a webhook, whose reference signs none', async () => {
    const id = await run([webhook('w', { secret: '${secrets.api}' })]);
    const { input } = await taskOf(server, id, 'w');
    expect(input).toMatchObject({ secret: '${secrets.api}' });
    const token =
      String((input as JsonObject).callbackPath)
        .split('/')
        .at(-1) ?? '';
    const bytes = Buffer.from('{"paid":true}');
    const timestamp = String(Math.floor(server.clock.now() / 1_000));
    const { createHmac } = await import('node:crypto');
    const signed = (secret: string) =>
      `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(bytes).digest('hex')}`;
    const callback = (secret: string) =>
      server.useCases.doors.callback({ token, payload: { paid: true }, bytes, timestamp, signature: signed(secret) });
    expect(createCallbackSeal('x').isSigned('a', '', bytes, '')).toBe(false);
    expect(await callback('${secrets.api}')).toBe(false);
    expect(await callback('s3cret-api')).toBe(true);
    expect(await statusOf(server, id)).toBe('COMPLETED');
  });

  it('are told by name alone, in pages, and deleted with their tags', async () => {
    const { secrets } = server.useCases;
    const first = await secrets.list(NAMESPACE, 1);
    if (!first.ok) throw new Error(first.error.message);
    expect(Object.keys(first.value.items[0] ?? {}).sort()).toEqual(['createdAt', 'keyId', 'name', 'updatedAt']);
    const next = await secrets.list(NAMESPACE, 1, first.value.nextCursor);
    expect(next).toMatchObject({ ok: true, value: { items: [{ name: 'api' }] } });
    await put('gone', 'x');
    expect([(await secrets.delete(NAMESPACE, 'gone')).ok, (await secrets.delete(NAMESPACE, 'gone')).ok]).toEqual([
      true,
      false,
    ]);
    expect(await secrets.get(NAMESPACE, 'gone')).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
  });

  it('are refused by a name that no expression could name, and above their size', async () => {
    const codes = [await put('a b', 'x'), await put('', 'x'), await put('big', 'x'.repeat(VALUE_CHARS_MAX + 1))].map(
      (outcome) => (outcome.ok ? 'ok' : outcome.error.code),
    );
    expect(codes).toEqual(['INVALID_NAME', 'INVALID_NAME', 'PAYLOAD_TOO_LARGE']);
    expect((await put('big', 'x'.repeat(VALUE_CHARS_MAX))).ok).toBe(true);
  });

  it('are sealed anew by a rotation; what no key opens stays as it is and is named', async () => {
    const { values } = server;
    const tags = { clearTags: async () => undefined } as never;
    const unreadable = createSecretSeal([sealKey('k0')]).seal('x', secretContext(OTHER, 'lost')) ?? '';
    await values.putValue(OTHER, 'SECRET', { name: 'lost', value: unreadable, keyId: 'k0' }, 100);
    const turned = createSecretSeal([sealKey('k2'), sealKey('k1')]);
    const { rotate } = createSecretUseCases({ values, tags, seal: turned });
    expect(await rotate(OTHER)).toEqual({ ok: true, value: { keyId: 'k2', resealed: 1, unreadable: ['lost'] } });
    const [row] = await values.findValues(OTHER, 'SECRET', ['foreign']);
    expect(createSecretSeal([sealKey('k2')]).open(row?.value ?? '', secretContext(OTHER, 'foreign'))).toEqual({
      ok: true,
      value: 'x',
    });
    expect(testSeal.open(row?.value ?? '', secretContext(OTHER, 'foreign'))).toEqual({ ok: false, error: 'NO_KEY' });
  });

  it('are not stored where nothing could seal them', async () => {
    const keyless = await openMemoryServer({ seal: createSecretSeal([]) });
    const refused = { ok: false, error: { code: 'NO_KEY_RING' } };
    expect(await keyless.useCases.secrets.put(NAMESPACE, 'a', 'x')).toMatchObject(refused);
    expect(await keyless.useCases.secrets.rotate(NAMESPACE)).toMatchObject(refused);
    expect(await keyless.values.findValues(NAMESPACE, 'SECRET', ['a'])).toEqual([]);
    await keyless.close();
  });

  it('too short to be told apart from other text are left where they are', () => {
    const output = { a: 'abcabc' };
    expect(redacted({ output }, ['abc'.slice(0, REDACTED_CHARS_MIN - 1)]).output).toEqual(output);
    const said = { output: { a: 'an%20apple pie"' }, reason: 'an apple pie\\"' };
    expect(redacted(said, ['an apple', 'pie"'])).toEqual({ output: { a: '*** ***' }, reason: '*** ***' });
  });
});
