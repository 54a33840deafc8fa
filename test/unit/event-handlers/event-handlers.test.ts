import { describe, expect, it } from 'vitest';
import {
  EVENT_DEPTH_MAX,
  type EventAction,
  type EventHandler,
} from '../../../src/domain/event-handler/event-handler.ts';
import type { ExecutionId, Namespace } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { memoryEngine } from '../../support/memory-engine.ts';

const NS = 'default' as Namespace;
const EVENT = 'internal:paid';

type Result<T> = Readonly<{ ok: true; value: T }> | Readonly<{ ok: false; error: { message: string } }>;
const accepted = <T>(result: Result<T>): T => {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
};
const action = (type: EventAction['type'], input: JsonObject, expandInlineJson = false): EventAction => ({
  type,
  input,
  expandInlineJson,
});
const handlerOf = (actions: readonly EventAction[], given: Partial<EventHandler> = {}): EventHandler => ({
  name: 'on-paid',
  event: EVENT,
  active: true,
  actions,
  dialect: 'v1',
  ...given,
});
const task = (type: string, ref = 't', fields: JsonObject = {}) => ({
  name: ref,
  taskReferenceName: ref,
  type,
  ...fields,
});

/** An engine with `ship`, which takes a moment, and `order`, which waits inside a fork and a loop. */
const open = async () => {
  const engine = memoryEngine();
  const handlers = engine.useCases.eventHandlers;
  await engine.register({ name: 'ship', version: 1, tasks: [task('NOOP')] });
  await engine.register({ name: 'wait', version: 1, variables: { seen: [1] }, tasks: [task('WAIT')] });
  const settle = async () => {
    for (let round = 0; round < 10; round += 1) {
      await engine.evaluate();
      await engine.runLoopOnce('relay-outbox');
    }
  };
  return {
    ...engine,
    handlers,
    settle,
    put: async (handler: EventHandler) => accepted(await handlers.put(NS, handler, 'key-1')),
    publish: async (payload: JsonObject, rest: { id?: string; event?: string } = {}) => {
      const sent = accepted(await handlers.publish(NS, { event: EVENT, payload, ...rest }));
      await settle();
      return sent;
    },
    log: async (name = 'on-paid') => accepted(await handlers.runs(NS, name, 100)).items,
    dead: async () => accepted(await engine.useCases.outbox.deadLetters(NS, 100)).items,
    runs: async (name: string) => accepted(await engine.useCases.executions.search(NS, { name }, 100)).items,
    wait: async () => {
      const id = await engine.start('wait');
      await engine.evaluate();
      return id;
    },
    view: async (id: ExecutionId) => (await engine.get(id)).view,
  };
};

describe('an event handler', () => {
  it('starts a workflow with what the message says, and logs which', async () => {
    const engine = await open();
    await engine.put(
      handlerOf([
        action('START_WORKFLOW', {
          name: 'ship',
          correlationId: 'order ${order.id}',
          priority: 5,
          input: { order: '${order}', of: '${event.name}', all: '${payload}' },
        }),
      ]),
    );
    expect(await engine.publish({ order: { id: 7 } })).toMatchObject({ duplicate: false, handlers: 1 });
    const [run] = await engine.runs('ship');
    const view = await engine.view(run?.executionId as ExecutionId);
    expect(view).toMatchObject({
      status: 'COMPLETED',
      correlationId: 'order 7',
      priority: 5,
      input: { order: { id: 7 }, of: EVENT, all: { order: { id: 7 } } },
    });
    expect(await engine.log()).toMatchObject([
      { state: 'ACTED', event: EVENT, actions: [{ action: 'START_WORKFLOW', workflowId: run?.executionId }] },
    ]);
  });

  it('hears of what an EVENT of a run sends', async () => {
    const engine = await open();
    await engine.register({
      name: 'sender',
      version: 1,
      tasks: [task('EVENT', 'sent', { sink: 'conductor:paid', inputParameters: { order: '${workflow.input.order}' } })],
    });
    const started = action('START_WORKFLOW', {
      name: 'ship',
      input: { order: '${order}', by: '${workflowInstanceId}' },
    });
    await engine.put(handlerOf([started], { event: 'conductor:sender:paid' }));
    const id = await engine.start('sender', { order: 7 });
    await engine.settle();
    const [run] = await engine.runs('ship');
    expect((await engine.view(run?.executionId as ExecutionId)).input).toEqual({ order: 7, by: id });
  });

  it('completes and fails tasks by their ref or id, those of workers too', async () => {
    const engine = await open();
    await engine.register({
      name: 'fork',
      version: 1,
      tasks: [
        task('FORK_JOIN', 'f', {
          forkTasks: [
            [task('WAIT', 'a'), task('NOOP', 'a2')],
            [task('SIMPLE', 'b'), task('NOOP', 'b2')],
          ],
        }),
        task('JOIN', 'j', { joinOn: ['a2', 'b2'] }),
      ],
    });
    const target = { workflowId: '${id}', taskRefName: '${ref}', output: { by: '${ref}' } };
    await engine.put(handlerOf([action('COMPLETE_TASK', target)]));
    const id = await engine.start('fork');
    await engine.evaluate();
    await engine.publish({ id, ref: 'a' });
    await engine.publish({ id, ref: 'b' });
    const view = await engine.view(id);
    expect(view.status).toBe('COMPLETED');
    expect(view.tasks.find(({ ref }) => ref === 'a')).toMatchObject({ output: { by: 'a' } });
    const failed = await engine.wait();
    const taskId = (await engine.view(failed)).tasks[0]?.taskId as string;
    await engine.put(
      handlerOf([action('FAIL_TASK', { taskId: '${taskId}', reason: 'card ${why}' })], { name: 'failing' }),
    );
    await engine.publish({ taskId, why: 'refused', id, ref: 'a' });
    expect(await engine.view(failed)).toMatchObject({ status: 'FAILED' });
    expect((await engine.view(failed)).tasks[0]).toMatchObject({ status: 'FAILED', reason: 'card refused' });
  });

  it('completes the iteration of a loop that is open', async () => {
    const engine = await open();
    await engine.register({
      name: 'loop',
      version: 1,
      tasks: [
        task('DO_WHILE', 'l', {
          loopCondition: '${l.output.iteration} < 2',
          loopOver: [task('WAIT', 'w'), task('NOOP', 'n')],
        }),
      ],
    });
    await engine.put(handlerOf([action('COMPLETE_TASK', { workflowId: '${id}', taskRefName: 'w' })]));
    const id = await engine.start('loop');
    await engine.evaluate();
    await engine.publish({ id });
    expect((await engine.view(id)).status).toBe('RUNNING');
    await engine.publish({ id });
    expect((await engine.view(id)).status).toBe('COMPLETED');
  });

  it('terminates, sets variables, appends to them, and signals', async () => {
    const engine = await open();
    const [ended, changed, signalled] = [await engine.wait(), await engine.wait(), await engine.wait()];
    await engine.put(
      handlerOf([
        action('TERMINATE_WORKFLOW', { workflowId: '${ended}', reason: 'by ${who}' }),
        action('UPDATE_VARIABLES', { workflowId: '${changed}', variables: { who: '${who}', seen: 2 }, append: true }),
        action('SIGNAL', { workflowId: '${signalled}', output: { who: '${who}' } }),
      ]),
    );
    await engine.publish({ ended, changed, signalled, who: 'ann' });
    expect(await engine.view(ended)).toMatchObject({ status: 'TERMINATED', reason: 'by ann' });
    expect(await engine.view(changed)).toMatchObject({ status: 'RUNNING', variables: { who: 'ann', seen: [1, 2] } });
    expect(await engine.view(signalled)).toMatchObject({ status: 'COMPLETED' });
    expect((await engine.log())[0]?.actions.map(({ action: type }) => type)).toEqual([
      'TERMINATE_WORKFLOW',
      'UPDATE_VARIABLES',
      'SIGNAL',
    ]);
  });

  it('finds a run that has ended past what was meant for it, which is no fault', async () => {
    const engine = await open();
    const id = await engine.start('ship');
    await engine.put(handlerOf([action('TERMINATE_WORKFLOW', { workflowId: '${id}' })]));
    await engine.publish({ id });
    expect(await engine.log()).toMatchObject([
      { state: 'ACTED', actions: [{ note: expect.stringContaining('ended') }] },
    ]);
    expect(await engine.dead()).toEqual([]);
  });

  it.each([
    ['a comparison', '${amount} >= 10', undefined],
    ['a script', '$.amount >= 10', undefined],
    ['a script by its name', '$.amount >= 10', 'graaljs'],
    ['a value of the message', 'big', 'value-param'],
  ] as const)('acts where %s holds and passes over the rest', async (_what, condition, evaluator) => {
    const engine = await open();
    const given = evaluator === undefined ? { condition } : { condition, evaluator };
    await engine.put(handlerOf([action('START_WORKFLOW', { name: 'ship' })], given));
    await engine.publish({ amount: 3, big: false });
    await engine.publish({ amount: 30, big: true });
    expect((await engine.log()).map(({ state }) => state)).toEqual(['ACTED', 'PASSED_OVER']);
    expect(await engine.runs('ship')).toHaveLength(1);
  });

  it('acts on the first message of an id alone', async () => {
    const engine = await open();
    await engine.put(handlerOf([action('START_WORKFLOW', { name: 'ship' })], { dedupeId: '${order}-${step}' }));
    await engine.publish({ order: 7, step: 1 });
    await engine.publish({ order: 7, step: 1 });
    await engine.publish({ order: 7, step: 2 });
    expect((await engine.log()).map(({ state }) => state)).toEqual(['ACTED', 'DUPLICATE', 'ACTED']);
    expect(await engine.runs('ship')).toHaveLength(2);
  });

  it('tells long ids apart', async () => {
    const engine = await open();
    await engine.put(handlerOf([action('START_WORKFLOW', { name: 'ship' })], { dedupeId: '${order}' }));
    const long = 'x'.repeat(100_000);
    for (const order of [`${long}1`, `${long}2`, `${long}1`]) await engine.publish({ order });
    expect((await engine.log()).map(({ state }) => state)).toEqual(['DUPLICATE', 'ACTED', 'ACTED']);
  });

  it('reads texts that are JSON where it is told to', async () => {
    const engine = await open();
    const input = { name: 'ship', input: { id: '${body.order.id}' } };
    await engine.put(handlerOf([action('START_WORKFLOW', input, true), action('START_WORKFLOW', input)]));
    await engine.publish({ body: '{"order":"{\\"id\\":7}"}' });
    const ids = (await engine.log())[0]?.actions.map(({ workflowId }) => workflowId as ExecutionId) ?? [];
    const inputs = await Promise.all(ids.map(async (id) => (await engine.view(id)).input));
    expect(inputs).toEqual([{ id: 7 }, { id: null }]);
  });

  it('that rests, or is gone, does nothing any more', async () => {
    const engine = await open();
    const actions = [action('START_WORKFLOW', { name: 'ship' })];
    await engine.put(handlerOf(actions, { active: false }));
    expect(await engine.publish({})).toMatchObject({ handlers: 0 });
    await engine.put(handlerOf(actions));
    accepted(await engine.handlers.publish(NS, { event: EVENT, payload: {} }));
    accepted(await engine.handlers.delete(NS, 'on-paid'));
    await engine.settle();
    expect([await engine.runs('ship'), await engine.dead()]).toEqual([[], []]);
  });
});

describe('a message that a handler cannot deal with', () => {
  it.each([
    ['a workflow that is not there', action('START_WORKFLOW', { name: 'nothing' }), 'NOT_FOUND'],
    [
      'a run that is not there',
      action('TERMINATE_WORKFLOW', { workflowId: '019a0000-0000-7000-8000-000000000000' }),
      'NOT_FOUND',
    ],
    ['what is no id', action('TERMINATE_WORKFLOW', { workflowId: '${order}' }), 'workflowId'],
    ['a secret', action('START_WORKFLOW', { name: 'ship', input: { key: '${workflow.secrets.key}' } }), 'secret'],
  ] as const)(
    'is a dead letter at once because of %s, told of in the log, and changes nothing',
    async (_what, bad, why) => {
      const engine = await open();
      await engine.put(handlerOf([action('START_WORKFLOW', { name: 'ship' }), bad]));
      await engine.put(handlerOf([action('START_WORKFLOW', { name: 'ship' })], { name: 'beside' }));
      await engine.publish({ order: 7 });
      expect(await engine.log()).toMatchObject([
        { state: 'FAILED', reason: expect.stringContaining(why), actions: [] },
      ]);
      expect(await engine.dead()).toMatchObject([{ topic: 'handle-event', attempts: 1 }]);
      expect((await engine.log('beside')).map(({ state }) => state)).toEqual(['ACTED']);
      expect(await engine.runs('ship')).toHaveLength(1);
    },
  );

  it('is dealt with when its cause is mended and it is sent again', async () => {
    const engine = await open();
    await engine.put(handlerOf([action('START_WORKFLOW', { name: 'later' })]));
    await engine.publish({});
    await engine.register({ name: 'later', version: 1, tasks: [task('NOOP')] });
    const [letter] = await engine.dead();
    accepted(await engine.useCases.outbox.redrive(NS, letter?.id ?? ''));
    await engine.settle();
    expect(await engine.log()).toMatchObject([{ state: 'ACTED' }]);
    expect([await engine.dead(), (await engine.runs('later')).length]).toEqual([[], 1]);
  });
});

describe('a loop between events and workflows', () => {
  it('ends at its bound, visibly, through children too', async () => {
    const engine = await open();
    await engine.register({
      name: 'echo',
      version: 1,
      tasks: [task('EVENT', 'e', { sink: EVENT, inputParameters: { again: true } })],
    });
    await engine.register({
      name: 'loud',
      version: 1,
      tasks: [task('SUB_WORKFLOW', 's', { subWorkflowParam: { name: 'echo' } })],
    });
    await engine.put(handlerOf([action('START_WORKFLOW', { name: 'loud' })]));
    await engine.publish({});
    for (let turns = 0; turns < 20; turns += 1) await engine.settle();
    expect(await engine.runs('loud')).toHaveLength(EVENT_DEPTH_MAX);
    expect(await engine.dead()).toMatchObject([{ lastFailure: expect.stringContaining('LIMIT_EXCEEDED') }]);
  });
});

describe('registration and publication', () => {
  it.each([
    [{ event: 'paid' }, 'VALIDATION_FAILED', 'event'],
    [{ event: `internal:${'x'.repeat(400)}` }, 'VALIDATION_FAILED', 'event'],
    [{ actions: [] }, 'VALIDATION_FAILED', 'actions'],
    [{ actions: [action('START_WORKFLOW', {})] }, 'VALIDATION_FAILED', 'actions[0].input.name'],
    [{ actions: [action('START_WORKFLOW', { name: 'x', nme: 1 })] }, 'UNKNOWN_FIELD', 'actions[0].input.nme'],
    [{ actions: [action('COMPLETE_TASK', { workflowId: 'x' })] }, 'VALIDATION_FAILED', 'actions[0].input'],
    [{ actions: [action('SIGNAL', {})] }, 'VALIDATION_FAILED', 'actions[0].input.workflowId'],
    [{ actions: [action('START_WORKFLOW', { name: '${a[' })] }, 'EXPRESSION_INVALID', 'actions[0].input.name'],
    [{ dedupeId: '${a[' }, 'EXPRESSION_INVALID', 'dedupeId'],
    [{ name: '9' }, 'INVALID_NAME', 'name'],
  ] as const)('refuses %j', async (given, code, path) => {
    const engine = await open();
    const handler = handlerOf([action('START_WORKFLOW', { name: 'ship' })], given as Partial<EventHandler>);
    expect(await engine.handlers.put(NS, handler, 'key-1')).toMatchObject({ ok: false, error: { code, path } });
  });

  it('publishes an id once, to the sink where it can be read, and refuses a name without a source', async () => {
    const engine = await open();
    await engine.put(handlerOf([action('START_WORKFLOW', { name: 'ship' })]));
    expect(await engine.publish({ n: 1 }, { id: 'm-1' })).toEqual({ messageId: 'm-1', duplicate: false, handlers: 1 });
    expect(await engine.publish({ n: 2 }, { id: 'm-1' })).toEqual({ messageId: 'm-1', duplicate: true, handlers: 0 });
    expect(await engine.publish({ n: 3 }, { id: 'm-1', event: 'internal:other' })).toMatchObject({ duplicate: false });
    expect(await engine.runs('ship')).toHaveLength(1);
    const events = accepted(await engine.useCases.outbox.internalEvents(NS, EVENT, 10)).items;
    expect(events).toMatchObject([{ messageId: 'm-1', payload: { n: 1 } }]);
    const refused = await engine.handlers.publish(NS, { event: 'orders', payload: {} });
    expect(refused).toMatchObject({ ok: false, error: { code: 'VALIDATION_FAILED', path: 'event' } });
  });

  it('shows what a handler would do, and does nothing', async () => {
    const engine = await open();
    const condition = { condition: '${amount} > 1', dedupeId: 'o-${order}' };
    await engine.put(handlerOf([action('START_WORKFLOW', { name: 'ship', input: { o: '${order}' } })], condition));
    expect(await engine.handlers.test(NS, 'on-paid', { amount: 2, order: 7 })).toEqual({
      ok: true,
      value: {
        ok: true,
        value: {
          holds: true,
          dedupeId: 'o-7',
          actions: [{ type: 'START_WORKFLOW', name: 'ship', input: { o: 7 }, priority: 0 }],
        },
      },
    });
    expect(await engine.handlers.test(NS, 'on-paid', { amount: 0 })).toMatchObject({
      value: { value: { holds: false } },
    });
    expect(await engine.handlers.test(NS, 'on-paid', { amount: 'much' })).toMatchObject({
      ok: true,
      value: { ok: false, error: expect.stringContaining('The condition') },
    });
    await engine.settle();
    expect([await engine.runs('ship'), await engine.log()]).toEqual([[], []]);
  });
});
