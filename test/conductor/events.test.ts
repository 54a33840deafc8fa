import type { EventClient } from '@io-orkes/conductor-javascript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { ended, registerFlow, startFlow, statusOf, workflowOf } from './support/runs.ts';
import { sdkFor } from './support/sdk.ts';

type Handler = Parameters<EventClient['addEventHandler']>[0];

let server: ConductorServer;
let events: EventClient;

beforeAll(async () => {
  server = await startConductorServer();
  const clients = await sdkFor(server.url);
  events = clients.getEventClient();
  const task = (type: string) => [{ name: 't', taskReferenceName: 't', type }];
  await registerFlow(server, 'ship', task('NOOP'));
  await registerFlow(server, 'wait', task('WAIT'));
});
afterAll(() => server.close());

const handlerOf = (name: string, event: string, actions: unknown, more: object = {}): Handler =>
  ({ name, event, actions, active: true, ...more }) as Handler;
const starts = [{ action: 'start_workflow', start_workflow: { name: 'ship', input: { order: '${order}' } } }];

/** What a handler has done, once it has done so much. */
const executionsOf = async (name: string, count: number) => {
  await expect.poll(async () => (await events.getEventExecutions(name)).length, { timeout: 10_000 }).toBe(count);
  return events.getEventExecutions(name);
};

describe('the event client of Conductor', () => {
  it('adds handlers, one and several, and reads them as they were added', async () => {
    const whole = handlerOf(
      'whole',
      'conductor:checkout:paid',
      [
        { action: 'complete_task', complete_task: { workflowId: '${id}', taskRefName: 't', output: { a: 1 } } },
        { action: 'fail_task', fail_task: { taskId: '${task}', reasonForIncompletion: 'why' }, expandInlineJSON: true },
        { action: 'terminate_workflow', terminate_workflow: { workflowId: '${id}', terminationReason: 'why' } },
        {
          action: 'update_workflow_variables',
          update_workflow_variables: { workflowId: '${id}', variables: { a: 1 }, appendArray: true },
        },
      ],
      { condition: '$.amount > 1', evaluatorType: 'javascript', description: 'all of it' },
    );
    await events.addEventHandler(whole);
    expect(await events.getEventHandlerByName('whole')).toMatchObject(whole);
    await events.addEventHandlers([handlerOf('one', 'internal:one', starts), handlerOf('two', 'internal:one', starts)]);
    const all = (await events.getAllEventHandlers()).map(({ name }) => name);
    expect(all).toEqual(expect.arrayContaining(['whole', 'one', 'two']));
    await expect(events.addEventHandler(whole)).rejects.toThrow(/already exists/);
    expect(await events.test()).toBeDefined();
  });

  it('updates a handler, finds those of an event, and removes it', async () => {
    await events.addEventHandler(handlerOf('u', 'internal:u', starts));
    await events.updateEventHandler(handlerOf('u', 'internal:u', starts, { active: false }));
    expect(await events.getEventHandlersForEvent('internal:u', true)).toEqual([]);
    expect(await events.getEventHandlersForEvent('internal:u', false)).toMatchObject([{ name: 'u', active: false }]);
    await events.removeEventHandler('u');
    await expect(events.getEventHandlerByName('u')).rejects.toThrow(/no event handler u/);
    await expect(events.updateEventHandler(handlerOf('u', 'internal:u', starts))).rejects.toThrow(/not found/);
    await expect(events.removeEventHandler('u')).rejects.toThrow(/no event handler u/);
  });

  it('rests without the word active, as there', async () => {
    const { active: _, ...rest } = handlerOf('silent', 'internal:silent', starts);
    await events.addEventHandler(rest as Handler);
    expect(await events.getEventHandlerByName('silent')).toMatchObject({ active: false });
  });

  it('tags a handler and takes tags away', async () => {
    await events.addEventHandler(handlerOf('tagged', 'internal:tagged', starts));
    const tags = ['a', 'b', 'c'].map((key) => ({ key, value: '1' }));
    await events.putTagForEventHandler('tagged', tags);
    expect(await events.getTagsForEventHandler('tagged')).toMatchObject(tags);
    await events.deleteTagForEventHandler('tagged', { key: 'a', value: '1' });
    await events.deleteTagsForEventHandler('tagged', [{ key: 'b', value: '1' }]);
    expect(await events.getTagsForEventHandler('tagged')).toMatchObject([{ key: 'c', value: '1' }]);
  });

  it('hands an incoming event to its handlers, and tells what it did', async () => {
    await events.addEventHandler(handlerOf('incoming', 'internal:incoming', starts, { condition: "$.order != 'no'" }));
    await events.handleIncomingEvent({ event: 'internal:incoming', order: '7' });
    const [done] = await executionsOf('incoming', 1);
    expect(done).toMatchObject({ name: 'incoming', action: 'start_workflow', status: 'COMPLETED' });
    const id = done?.output?.workflowId as string;
    expect((await workflowOf(server, id)).input).toEqual({ order: '7' });
    await events.handleIncomingEvent({ event: 'internal:incoming', order: 'no' });
    expect((await executionsOf('incoming', 2))[0]).toMatchObject({ status: 'SKIPPED' });
    const messages = await events.getEventMessages('internal:incoming');
    expect(messages).toMatchObject([
      { eventTarget: 'internal:incoming', status: 'HANDLED', fullPayload: { order: 'no' } },
      { eventType: 'MESSAGE', payload: '{"order":"7"}', eventExecutions: [{ output: { workflowId: id } }] },
    ]);
    const stats = { name: 'incoming', active: true, numberOfMessages: 2, numberOfActions: 1 };
    expect((await events.getAllActiveEventHandlers()).results).toContainEqual(expect.objectContaining(stats));
    expect((await events.getEventHandlersWithStats()).results).toContainEqual(expect.objectContaining(stats));
    expect(await events.getEventExecutions('incoming', 1)).toHaveLength(1);
  });

  it('is told of what is refused', async () => {
    const nothing = [{ action: 'start_workflow', start_workflow: { name: 'nothing' } }];
    await events.addEventHandler(handlerOf('refused', 'internal:refused', nothing));
    await events.handleIncomingEvent({ event: 'internal:refused' });
    const [failed] = await executionsOf('refused', 1);
    expect(failed).toMatchObject({ status: 'FAILED', statusDescription: expect.stringContaining('nothing') });
    expect(await events.getEventMessages('internal:refused')).toMatchObject([{ status: 'REJECTED' }]);
  });

  it('completes the wait of a run that sent the event, ends runs and signals', async () => {
    const [first, second, third] = [
      await startFlow(server, 'wait'),
      await startFlow(server, 'wait'),
      await startFlow(server, 'wait'),
    ];
    await events.addEventHandler(
      handlerOf('acts', 'internal:acts', [
        { action: 'complete_task', complete_task: { workflowId: '${a}', taskRefName: 't', output: { by: 'event' } } },
        { action: 'terminate_workflow', terminate_workflow: { workflowId: '${b}', terminationReason: 'enough' } },
        { action: 'signal', signal: { workflowId: '${c}', output: {} } },
      ]),
    );
    await events.handleIncomingEvent({ event: 'internal:acts', a: first, b: second, c: third });
    expect([await ended(server, first), await ended(server, second), await ended(server, third)]).toEqual([
      'COMPLETED',
      'TERMINATED',
      'COMPLETED',
    ]);
  });

  it('says that no broker is connected', async () => {
    expect(await events.getAllQueueConfigs()).toEqual({});
    await expect(events.getQueueConfig('kafka', 'orders')).rejects.toThrow(/No broker is connected/);
    await expect(events.putQueueConfig('kafka', 'orders', '{}')).rejects.toThrow(/No broker is connected/);
    await expect(events.deleteQueueConfig('kafka', 'orders')).rejects.toThrow(/No broker is connected/);
    expect(await events.testConnectivity({ sink: 'kafka:orders' })).toMatchObject({ successful: false });
    expect(await events.testConnectivity({ sink: 'conductor:x' })).toEqual({ successful: true });
  });
});

describe('an EVENT of a run', () => {
  it('reaches the handler of its queue, whose workflow it starts', async () => {
    const sent = { name: 'e', taskReferenceName: 'e', type: 'EVENT', sink: 'conductor', inputParameters: { order: 9 } };
    await registerFlow(server, 'sender', [sent]);
    await events.addEventHandler(handlerOf('hears', 'conductor:sender:e', starts));
    const id = await startFlow(server, 'sender');
    expect(await statusOf(server, id)).toBe('COMPLETED');
    const [done] = await executionsOf('hears', 1);
    expect((await workflowOf(server, done?.output?.workflowId as string)).input).toEqual({ order: 9 });
  });
});

describe('a handler that makes no sense', () => {
  it.each([
    [{ actions: [{ action: 'start_agent' }] }, /an action is one of/],
    [{ actions: [{ action: 'start_workflow', start_workflow: {} }] }, /needs name/],
    [{ actions: [{ action: 'complete_task', complete_task: { workflowId: 'x' } }] }, /needs a taskId/],
    [{ event: 'paid' }, /where it is from/],
    [{ evaluatorType: 'python' }, /./],
  ])('%j is refused', async (wrong, why) => {
    const answer = await server.send('POST', '/api/event', {
      json: { ...handlerOf('wrong', 'internal:x', starts), ...wrong },
    });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.json)).toMatch(why);
  });
});
