import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createHttpApp } from '../../../src/adapters/http/app.ts';
import { HTTP_LIMITS } from '../../../src/adapters/http/limits.ts';
import { type HttpServer, startHttpServer } from '../../../src/adapters/http/server.ts';
import { DELIVERY_ATTEMPTS_MAX } from '../../../src/application/relay-outbox.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import { NAMESPACE, type TestServer, useCluster } from '../../support/engine.ts';
import { violations } from '../../support/invariants.ts';
import { eventsOf, ofType, registerWorkflow, startRun, statusOf, whenEnded } from '../../support/runs.ts';
import { leaseOne, reportOne } from '../../support/workers.ts';
import { step, workflow } from './definitions.ts';
import { countOf } from './given.ts';

const task = (type: string, ref: string, fields: JsonObject = {}): JsonObject => ({
  name: ref,
  taskReferenceName: ref,
  type,
  ...fields,
});

const quiet = { debug: () => undefined, warn: () => undefined, error: () => undefined };

/** The HTTP door of a server, open only while the work runs. */
const overHttp = async (server: TestServer, work: (http: HttpServer) => Promise<void>): Promise<void> => {
  const { useCases } = server;
  const app = createHttpApp({
    useCases,
    access: { mode: 'credentials' },
    log: quiet,
    limits: HTTP_LIMITS,
    version: '1',
  });
  const http = await startHttpServer({ app, host: '127.0.0.1', port: 0 });
  try {
    await work(http);
  } finally {
    await http.stop();
  }
};

describe('the doors of the engine', () => {
  const { at, cluster } = useCluster({}, {});

  const openTask = async (id: ExecutionId, ref: string) => {
    const detail = await at(0).useCases.executions.get(NAMESPACE, id);
    if (!detail.ok) throw new Error(detail.error.message);
    const found = detail.value.view.tasks.findLast((each) => each.ref === ref);
    if (found === undefined) throw new Error(`no task ${ref}`);
    return found;
  };

  const outputOf = async (id: ExecutionId, ref: string) => (await openTask(id, ref)).output;

  describe('for people', () => {
    it('let one of two win who complete the same task on two servers, and tell the other', async () => {
      await registerWorkflow(at(0), workflow('ask', [task('HUMAN', 'approve'), step('ask', 'after')]));
      const id = await startRun(at(0), 'ask');
      const { taskId } = await openTask(id, 'approve');
      const answers = await Promise.all(
        ['anna', 'ben'].map((by, server) =>
          at(server).useCases.doors.completeTask(NAMESPACE, taskId, { status: 'COMPLETED', output: { by } }, by),
        ),
      );
      expect(answers.map((answer) => (answer.ok ? 'ok' : answer.error.code)).sort()).toEqual(['INVALID_STATE', 'ok']);
      expect(ofType(await eventsOf(at(0), id), 'TaskClosed')).toHaveLength(1);
      expect(await reportOne(at(0), await leaseOne(at(0), 'ask'))).toBe('settled');
      await at(0).evaluateAll();
      expect(await statusOf(at(0), id)).toBe('COMPLETED');
    });

    it('know no task of another namespace, nor one that never was', async () => {
      const id = await startRun(at(0), 'ask');
      const { taskId } = await openTask(id, 'approve');
      const call = { status: 'COMPLETED', output: {} } as const;
      const elsewhere = await at(0).useCases.doors.completeTask('elsewhere' as never, taskId, call, 'x');
      const nowhere = await at(0).useCases.doors.completeTask(NAMESPACE, `${id}.99` as never, call, 'x');
      const noTask = await at(0).useCases.doors.completeTask(NAMESPACE, `${id}.1` as never, call, 'x');
      for (const answer of [elsewhere, nowhere, noTask]) {
        expect(answer.ok ? 'ok' : answer.error.code).toBe('NOT_FOUND');
      }
    });
  });

  describe('for callbacks', () => {
    const SECRET = 's3cret';

    const givenWait = async (name: string, inputParameters: JsonObject = {}) => {
      await registerWorkflow(at(0), workflow(name, [task('WAIT_FOR_WEBHOOK', 'hook', { inputParameters })]));
      const id = await startRun(at(0), name);
      const { input } = await openTask(id, 'hook');
      return { id, path: String((input as JsonObject).callbackPath) };
    };

    const post = async (http: HttpServer, path: string, body: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${http.url}${path}`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      });
      const { requestId: _, ...answer } = (await response.json()) as Record<string, JsonValue>;
      return { status: response.status, answer };
    };

    const REFUSED = {
      status: 401,
      answer: { error: 'UNAUTHENTICATED', message: 'Credentials are missing or not valid.' },
    };
    const ACCEPTED = { status: 200, answer: { status: 'accepted' } };

    const signed = (body: string, change: { secret?: string; at?: number; prefix?: string } = {}) => {
      const { secret = SECRET, at: seconds = Math.floor(Date.now() / 1_000), prefix = 'sha256=' } = change;
      const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
      return { 'x-rondo-timestamp': String(seconds), 'x-rondo-signature': `${prefix}${mac}` };
    };

    it('end their task once; the same payload again is answered alike and has no effect', async () => {
      const { id, path } = await givenWait('hooked');
      await overHttp(at(1), async (http) => {
        expect(await post(http, path, '{"paid":true}')).toEqual(ACCEPTED);
        expect(await whenEnded(at(0), id)).toBe('COMPLETED');
        const facts = (await eventsOf(at(0), id)).length;
        expect(await post(http, path, ' { "paid" : true } ')).toEqual(ACCEPTED);
        expect(await post(http, path, '{"paid":false}')).toEqual(REFUSED);
        expect((await eventsOf(at(0), id)).length).toBe(facts);
      });
      expect(await outputOf(id, 'hook')).toEqual({ paid: true });
    });

    it('race over two servers, and one has its effect', async () => {
      const { id, path } = await givenWait('raced_hook');
      const token = path.replace('/v1/hooks/', '');
      const calls = Array.from({ length: 10 }, (_, n) =>
        at(n % 2).useCases.doors.callback({
          token,
          payload: { n },
          bytes: new Uint8Array(),
          timestamp: undefined,
          signature: undefined,
        }),
      );
      expect((await Promise.all(calls)).filter((accepted) => accepted)).toHaveLength(1);
      expect(ofType(await eventsOf(at(0), id), 'TaskClosed')).toHaveLength(1);
    });

    it('that nobody sealed are refused with the one body', async () => {
      const { id, path } = await givenWait('sealed');
      const other = await startRun(at(0), 'sealed');
      const mac = path.split('.').at(-1) ?? '';
      const { taskId } = await openTask(other, 'hook');
      const forged = [
        '/v1/hooks/x',
        `/v1/hooks/${id}.2`,
        `/v1/hooks/${taskId}.${mac}`,
        `${path}x`,
        `${path.slice(0, -1)}`,
        `/v1/hooks/${id}.2.${'A'.repeat(43)}`,
        `/v1/hooks/${'9'.repeat(2_000)}`,
      ];
      await overHttp(at(0), async (http) => {
        for (const each of forged) expect(await post(http, each, '{}')).toEqual(REFUSED);
      });
      expect([await statusOf(at(0), id), await statusOf(at(0), other)]).toEqual(['RUNNING', 'RUNNING']);
    });

    it('prove with a signature over the raw bytes that their sender knows the secret', async () => {
      const { id, path } = await givenWait('signed', { secret: ['old', SECRET] });
      const body = '{ "b": 1.0, "a": "\\u00e9" }';
      const again = JSON.stringify(JSON.parse(body));
      const late = Math.floor(Date.now() / 1_000) - 301;
      const refusals: readonly Record<string, string>[] = [
        {},
        { ...signed(body), 'x-rondo-signature': '' },
        { ...signed(body), 'x-rondo-signature': 'sha256=abc' },
        { ...signed(body), 'x-rondo-timestamp': 'now' },
        signed(body, { secret: 'wrong' }),
        signed(body, { prefix: 'sha1=' }),
        signed(body, { at: late }),
        signed(again),
      ];
      await overHttp(at(0), async (http) => {
        for (const headers of refusals) expect(await post(http, path, body, headers)).toEqual(REFUSED);
        expect(await statusOf(at(0), id)).toBe('RUNNING');
        expect(await post(http, path, body, signed(body, { secret: 'old' }))).toEqual(ACCEPTED);
        expect(await post(http, path, body, signed(body))).toEqual(ACCEPTED);
        expect(await post(http, path, body)).toEqual(REFUSED);
      });
      expect(await outputOf(id, 'hook')).toEqual({ a: 'é', b: 1 });
    });

    it('are refused once the task is over: expired, or its run terminated', async () => {
      const ended = await givenWait('ended_hook');
      await at(0).useCases.executions.terminate(NAMESPACE, ended.id, 'tester');
      const expired = await givenWait('expired_hook', { expiresIn: 1 });
      await cluster().observer.query('update timers set fire_at = clock_timestamp() where workflow_id = $1', [
        expired.id,
      ]);
      await at(0).runLoopOnce('deadlines');
      await at(0).evaluateAll();
      expect(await statusOf(at(0), expired.id)).toBe('TIMED_OUT');
      await overHttp(at(0), async (http) => {
        for (const { path } of [ended, expired]) expect(await post(http, path, '{}')).toEqual(REFUSED);
      });
    });

    it('of a size beyond the limit are refused before they are read to the end', async () => {
      const { path } = await givenWait('sized');
      await overHttp(at(0), async (http) => {
        const { status, answer } = await post(
          http,
          path,
          JSON.stringify({ x: 'y'.repeat(HTTP_LIMITS.controlBytesMax) }),
        );
        expect([status, answer.error]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
      });
    });

    it('in a batch: one payload at a webhook ends all tasks that ask for it, and no others', async () => {
      const wait = task('WAIT_FOR_WEBHOOK', 'hook', {
        inputParameters: { webhook: '${workflow.input.webhook}', matches: { '$.order.id': '${workflow.input.order}' } },
      });
      await registerWorkflow(at(0), workflow('matched', [wait]));
      const inputs = [{ order: 1 }, { order: 1 }, { order: 1, webhook: 'bank' }, { order: 2 }];
      const ids = await Promise.all(inputs.map((input) => startRun(at(0), 'matched', { input })));
      const receive = (webhook: string, payload: JsonValue) =>
        at(0).useCases.doors.webhook(NAMESPACE, webhook, payload);
      expect(await receive('shop', { order: { id: 3 } })).toBe(0);
      expect(await receive('shop', { order: { id: 1 } })).toBe(2);
      expect(await receive('bank', { order: { id: 1 } })).toBe(1);
      expect(await Promise.all(ids.map((id) => statusOf(at(0), id)))).toEqual([
        'COMPLETED',
        'COMPLETED',
        'COMPLETED',
        'RUNNING',
      ]);
      expect(await at(0).useCases.doors.webhook('elsewhere' as never, 'shop', { order: { id: 2 } })).toBe(0);
    });
  });

  describe('for messages', () => {
    it('keep them in order over servers and take each once', async () => {
      const body = [task('PULL_WORKFLOW_MESSAGES', 'p', { inputParameters: { batchSize: 3 } }), step('pulled', 'b')];
      const loop = task('DO_WHILE', 'l', { loopOver: body, loopCondition: '$.l.iteration < 2' });
      await registerWorkflow(at(0), workflow('pulling', [step('pulled', 'a'), loop]));
      const id = await startRun(at(0), 'pulling');
      const sent: string[] = [];
      for (const n of [0, 1, 2, 3]) {
        const answer = await at(n % 2).useCases.doors.sendMessage(NAMESPACE, id, { n }, 'tester');
        if (answer.ok) sent.push(answer.value.messageId);
      }
      for (const _ of ['a', 'b__1', 'b__2']) {
        expect(await reportOne(at(0), await leaseOne(at(0), 'pulled'))).toBe('settled');
        await at(0).evaluateAll();
      }
      expect(await statusOf(at(1), id)).toBe('COMPLETED');
      const taken = ofType(await eventsOf(at(0), id), 'TaskClosed').flatMap(
        ({ output }) => (output.messages ?? []) as readonly JsonObject[],
      );
      expect(taken.map(({ id: messageId }) => messageId)).toEqual(sent);
      const late = await at(0).useCases.doors.sendMessage(NAMESPACE, id, {}, 'tester');
      expect(late.ok ? 'ok' : late.error.code).toBe('TERMINAL_STATE');
      expect(new Set(sent).size).toBe(4);
    });
  });

  describe('for events', () => {
    it('record what was sent to the internal sink, once, through the relay', async () => {
      const event = task('EVENT', 'tell', { sink: 'internal:orders', inputParameters: { n: 1 } });
      await registerWorkflow(at(0), workflow('telling', [event]));
      const id = await startRun(at(0), 'telling');
      await at(0).runLoopOnce('relay-outbox');
      const page = await at(0).useCases.outbox.internalEvents(NAMESPACE, 'internal:orders', 10);
      expect(page).toMatchObject({
        ok: true,
        value: { items: [{ executionId: id, sink: 'internal:orders', messageId: `${id}.2`, payload: { n: 1 } }] },
      });
      expect(
        await countOf(cluster().observer, "select count(*) from outbox_events where topic = 'event/internal'"),
      ).toBe(0);
    });

    it('keep for brokers what nothing delivers yet as dead letters, to be seen, redriven and deleted', async () => {
      const request = { topic: 'orders', value: 1 };
      const publish = task('KAFKA_PUBLISH', 'k', { inputParameters: { kafka_request: request } });
      await registerWorkflow(at(0), workflow('kafka', [publish, task('EVENT', 'e', { sink: 'nats:x' })]));
      const id = await startRun(at(0), 'kafka');
      expect(await statusOf(at(0), id)).toBe('COMPLETED');
      const { deadLetters, redrive, deleteDeadLetter } = at(0).useCases.outbox;
      for (let attempt = 0; attempt < DELIVERY_ATTEMPTS_MAX; attempt += 1) {
        await cluster().observer.query(
          'update outbox_events set available_at = clock_timestamp() where dead_at is null',
        );
        await at(0).runLoopOnce('relay-outbox');
      }
      const page = await deadLetters(NAMESPACE, 1);
      if (!page.ok) throw new Error(page.error.message);
      const [letter] = page.value.items;
      expect(letter).toMatchObject({
        executionId: id,
        topic: 'event/kafka',
        payload: { messageId: `${id}.2`, sink: 'kafka:orders', payload: request },
        attempts: DELIVERY_ATTEMPTS_MAX,
        lastFailure: 'no handler is registered for the topic event/kafka',
      });
      const rest = await deadLetters(NAMESPACE, 10, page.value.nextCursor);
      expect(rest.ok && rest.value.items.map(({ topic }) => topic)).toEqual(['event/nats']);
      const foreign = await deadLetters('elsewhere' as never, 10, page.value.nextCursor);
      expect(foreign.ok ? 'ok' : foreign.error.code).toBe('INVALID_CURSOR');
      const letterId = letter?.id ?? '';
      expect((await redrive('elsewhere' as never, letterId)).ok).toBe(false);
      expect((await redrive(NAMESPACE, letterId)).ok).toBe(true);
      expect((await deleteDeadLetter(NAMESPACE, letterId)).ok).toBe(false);
      for (const wrong of ['x', '-1', '1e3', '99999999999999999999', "1' or true"]) {
        expect((await redrive(NAMESPACE, wrong)).ok).toBe(false);
      }
      await at(0).runLoopOnce('relay-outbox');
      const { rows } = await cluster().observer.query('select attempts from outbox_events where id = $1', [letterId]);
      expect(rows).toEqual([{ attempts: 1 }]);
      await cluster().observer.query('delete from outbox_events');
    });
  });

  describe('between runs', () => {
    let runs = 0;
    const run = async (prefix: string, tasks: readonly JsonObject[], input: JsonObject) => {
      runs += 1;
      const name = `${prefix}_${runs}`;
      await registerWorkflow(at(0), workflow(name, tasks));
      const id = await startRun(at(0), name, { input });
      for (let round = 0; round < tasks.length; round += 1) {
        await at(0).runLoopOnce('system-tasks');
        await at(0).evaluateAll();
      }
      return id;
    };

    it('read another run, its tasks only when asked, and fail for one that is not there', async () => {
      const other = await startRun(at(0), 'ask', { input: { n: 1 }, correlationId: 'c-9' });
      const look = (ref: string, includeTasks: boolean) =>
        task('GET_WORKFLOW', ref, { inputParameters: { id: '${workflow.input.other}', includeTasks } });
      const id = await run('looking', [look('bare', false), look('whole', true)], { other });
      expect(await outputOf(id, 'bare')).toMatchObject({
        workflowId: other,
        workflowName: 'ask',
        status: 'RUNNING',
        input: { n: 1 },
        correlationId: 'c-9',
      });
      expect((await outputOf(id, 'bare'))?.tasks).toBeUndefined();
      expect((await outputOf(id, 'whole'))?.tasks).toMatchObject([
        { referenceTaskName: 'approve', taskType: 'HUMAN', status: 'IN_PROGRESS' },
      ]);
      for (const missing of ['nonsense', '01900000-0000-7000-8000-ffffffffffff']) {
        expect(await statusOf(at(0), await run('looking', [look('bare', false)], { other: missing }))).toBe('FAILED');
      }
    });

    it('end other runs with a reason, and start their failure workflow when asked', async () => {
      await registerWorkflow(at(0), workflow('undone', [task('HUMAN', 'mourn')]));
      await registerWorkflow(at(0), { ...workflow('ends', [task('HUMAN', 'h')]), failureWorkflow: 'undone' });
      const others = [await startRun(at(0), 'ends'), await startRun(at(0), 'ends')];
      const inputParameters = {
        workflowId: '${workflow.input.others}',
        terminationReason: 'enough',
        triggerFailureWorkflow: true,
      };
      const stop = task('TERMINATE_WORKFLOW', 'stop', { inputParameters });
      const id = await run('stopping', [stop], { others });
      expect(await outputOf(id, 'stop')).toEqual({ terminated: others, notRunning: [] });
      for (const other of others) {
        expect(await at(0).index.find(NAMESPACE, other)).toMatchObject({ status: 'TERMINATED', reason: 'enough' });
      }
      await at(0).runLoopOnce('relay-outbox');
      expect(await at(0).index.search(NAMESPACE, { name: 'undone' }, { limit: 10 })).toHaveLength(2);
      const again = await run('stopping', [stop], { others: others[0] ?? '' });
      expect(await outputOf(again, 'stop')).toEqual({ terminated: [others[0]], notRunning: [] });
      expect(await statusOf(at(0), await run('stopping', [stop], { others: ['nonsense'] }))).toBe('FAILED');
    });

    it('complete a task of another run by its ref or its id, be it a person’s or a worker’s', async () => {
      await registerWorkflow(at(0), workflow('asked', [task('HUMAN', 'h'), step('asked', 's'), task('HUMAN', 'g')]));
      const other = await startRun(at(0), 'asked');
      const update = (ref: string, inputParameters: JsonObject) =>
        task('UPDATE_TASK', ref, {
          inputParameters: { workflowId: '${workflow.input.other}', taskStatus: 'COMPLETED', ...inputParameters },
        });
      const id = await run(
        'answering',
        [
          update('u', { taskRefName: 'h', taskOutput: { yes: 1 } }),
          update('v', { taskRefName: 's', mergeOutput: true }),
        ],
        { other },
      );
      expect([await outputOf(other, 'h'), await outputOf(other, 's')]).toEqual([{ yes: 1 }, {}]);
      expect(await statusOf(at(0), id)).toBe('COMPLETED');
      const { taskId } = await openTask(other, 'g');
      await run('answering', [update('u', { taskId, taskStatus: 'FAILED' })], { other });
      expect(await statusOf(at(0), other)).toBe('FAILED');
      const wrong = [{ taskStatus: 'CANCELED', taskRefName: 'h' }, { taskRefName: 'none' }, {}, { taskRefName: 'h' }];
      for (const input of wrong) {
        expect(await statusOf(at(0), await run('answering', [update('u', input)], { other }))).toBe('FAILED');
      }
    });

    it('do their work once when the process is gone before it reports', async () => {
      const other = await startRun(at(0), 'ask');
      const inputParameters = {
        workflowId: other,
        taskRefName: 'approve',
        taskStatus: 'COMPLETED',
        taskOutput: { n: 1 },
      };
      await registerWorkflow(at(0), workflow('crashing', [task('UPDATE_TASK', 'u', { inputParameters })]));
      const id = await startRun(at(0), 'crashing');
      const { taskId } = await openTask(id, 'u');
      const target = await openTask(other, 'approve');
      const { engine, useCases } = at(0);
      expect(await engine.findEvent(id, Number(taskId.split('.')[1]))).toBeDefined();
      // What the first process did before it was gone.
      const done = await useCases.doors.completeTask(
        NAMESPACE,
        target.taskId,
        { status: 'COMPLETED', output: { n: 1 } },
        `task ${taskId}`,
      );
      expect(done.ok).toBe(true);
      await at(1).runLoopOnce('system-tasks');
      await at(1).evaluateAll();
      expect(await statusOf(at(0), id)).toBe('COMPLETED');
      expect(ofType(await eventsOf(at(0), other), 'TaskClosed')).toHaveLength(1);
    });
  });

  it('leave nothing behind that breaks what must always hold', async () => {
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
    expect(
      at(0).problems.filter((problem) => !problem.includes('a delivery failed') && !problem.includes('dead letter')),
    ).toEqual([]);
  });
});
