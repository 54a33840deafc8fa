import type { MetadataClient, OrkesClients, SchemaClient } from '@io-orkes/conductor-javascript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { sdkFor } from './support/sdk.ts';

let server: ConductorServer;
let clients: OrkesClients;
let metadata: MetadataClient;
let schemas: SchemaClient;

beforeAll(async () => {
  server = await startConductorServer();
  clients = await sdkFor(server.url);
  metadata = clients.getMetadataClient();
  schemas = clients.getSchemaClient();
});
afterAll(() => server.close());

const simple = (name: string, more: object = {}) => ({
  name,
  taskReferenceName: `${name}_ref`,
  type: 'SIMPLE',
  inputParameters: {},
  ...more,
});
const document = (name: string, version = 1, more: object = {}) => ({
  name,
  version,
  tasks: [simple('charge')],
  schemaVersion: 2,
  timeoutSeconds: 0,
  ...more,
});
/** The clients' types ask for more than Conductor does. */
const workflow = (...args: Parameters<typeof document>) =>
  document(...args) as unknown as Parameters<MetadataClient['registerWorkflowDef']>[0];
const task = (name: string, more: object = {}) =>
  ({ name, ...more }) as unknown as Parameters<MetadataClient['registerTask']>[0];

describe('task definitions', () => {
  it('are registered, read, replaced, listed and deleted by the MetadataClient', async () => {
    await metadata.registerTask(task('m_one', { retryCount: 5 }));
    await metadata.registerTasks([task('m_two'), task('m_three', { timeoutSeconds: 60, responseTimeoutSeconds: 10 })]);
    expect(await metadata.getTask('m_one')).toMatchObject({
      retryCount: 5,
      retryLogic: 'FIXED',
      retryDelaySeconds: 60,
    });
    await metadata.updateTask(task('m_one', { retryCount: 1 }));
    await metadata.updateTask(task('m_four'));
    expect((await metadata.getTask('m_one')).retryCount).toBe(1);
    const names = (await metadata.getAllTaskDefs()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['m_one', 'm_two', 'm_three', 'm_four']));
    await metadata.unregisterTask('m_four');
    await expect(metadata.getTask('m_four')).rejects.toThrow('No such taskType found by name: m_four');
  });

  it('come back with every field that was given, and the defaults of the others', async () => {
    const given = {
      name: 'm_full',
      description: 'charges a card',
      retryCount: 2,
      retryLogic: 'EXPONENTIAL_BACKOFF',
      retryDelaySeconds: 7,
      timeoutSeconds: 120,
      timeoutPolicy: 'RETRY',
      responseTimeoutSeconds: 30,
      pollTimeoutSeconds: 40,
      totalTimeoutSeconds: 600,
      maxRetryDelaySeconds: 50,
      backoffJitterMs: 20,
      inputKeys: ['a'],
      outputKeys: ['b'],
      inputTemplate: { a: 1 },
      concurrentExecLimit: 3,
      rateLimitPerFrequency: 10,
      rateLimitFrequencyInSeconds: 60,
      isolationGroupId: 'g',
      executionNameSpace: 'n',
      ownerEmail: 'a@b.c',
      baseType: 'x',
      taskStatusListenerEnabled: false,
      enforceSchema: false,
    };
    await metadata.registerTask(task('m_full', given));
    expect(await metadata.getTask('m_full')).toMatchObject({ ...given, backoffScaleFactor: 2 });
    await metadata.registerTask(task('m_plain'));
    expect(await metadata.getTask('m_plain')).toMatchObject({
      retryCount: 3,
      timeoutSeconds: 0,
      timeoutPolicy: 'TIME_OUT_WF',
      retryLogic: 'FIXED',
      retryDelaySeconds: 60,
      responseTimeoutSeconds: 3_600,
      rateLimitPerFrequency: 0,
      rateLimitFrequencyInSeconds: 1,
      backoffScaleFactor: 1,
      maxRetryDelaySeconds: 0,
      totalTimeoutSeconds: 0,
      inputKeys: [],
      createTime: expect.any(Number),
    });
  });

  it('are refused as Conductor refuses them, with the place that is wrong', async () => {
    const refused = await server.send('POST', '/api/metadata/taskdefs', {
      json: [{ name: 'm_bad', timeoutSeconds: 60 }],
    });
    expect(refused).toMatchObject({ status: 400, json: { status: 400, message: expect.any(String) } });
    expect((await server.send('POST', '/api/metadata/taskdefs', { json: [] })).status).toBe(400);
    expect((await server.send('DELETE', '/api/metadata/taskdefs/m_none')).status).toBe(404);
  });
});

describe('workflow definitions', () => {
  it('are registered once: again only where they may be overwritten', async () => {
    await metadata.registerWorkflowDef(workflow('m_order'));
    const again = metadata.registerWorkflowDef(workflow('m_order'));
    await expect(again).rejects.toThrow('Workflow with m_order.1 already exists!');
    await metadata.registerWorkflowDef(workflow('m_order', 1, { description: 'new' }), true);
    expect((await metadata.getWorkflowDef('m_order', 1)).description).toBe('new');
    const conflict = await server.send('POST', '/api/metadata/workflow', { json: document('m_order') });
    expect(conflict).toMatchObject({ status: 409, json: { status: 409 } });
  });

  it('come back with their steps, and the defaults of Conductor', async () => {
    const inner = simple('inner', { startDelay: 3, optional: true, retryCount: 4 });
    const loop = {
      name: 'loop',
      taskReferenceName: 'loop_ref',
      type: 'DO_WHILE',
      loopCondition: '$.loop_ref.iteration < 2',
      loopOver: [inner],
    };
    const given = document('m_steps', 1, {
      tasks: [loop, { ...simple('last'), permissive: true, cacheConfig: { key: '${a}', ttlInSecond: 5 } }],
      inputParameters: ['a'],
      outputParameters: { x: '${last_ref.output.y}' },
      failureWorkflow: 'm_order',
      ownerEmail: 'a@b.c',
      variables: { v: 1 },
      inputTemplate: { a: 9 },
      rateLimitConfig: { rateLimitKey: 'k', concurrentExecLimit: 2 },
      maskedFields: ['pin'],
      metadata: { team: 'x' },
      timeoutPolicy: 'TIME_OUT_WF',
      timeoutSeconds: 99,
      restartable: false,
    });
    await metadata.registerWorkflowDef(given as unknown as ReturnType<typeof workflow>);
    expect(await metadata.getWorkflowDef('m_steps')).toMatchObject(given);
    expect(await metadata.getWorkflowDef('m_order', 1)).toMatchObject({
      schemaVersion: 2,
      restartable: true,
      timeoutPolicy: 'ALERT_ONLY',
      workflowStatusListenerEnabled: false,
      enforceSchema: true,
      inputParameters: [],
      outputParameters: {},
      variables: {},
    });
  });

  it('are listed whole, by name, by version and as the latest', async () => {
    await metadata.registerWorkflowDef(workflow('m_many', 1));
    await metadata.registerWorkflowDef(workflow('m_many', 2));
    const all = await metadata.getAllWorkflowDefs();
    expect(all.filter(({ name }) => name === 'm_many').map(({ version }) => version)).toEqual([1, 2]);
    const get = async (path: string) => (await server.send('GET', `/api/metadata/workflow${path}`)).json;
    expect(await get('/names')).toEqual(expect.arrayContaining(['m_many', 'm_order']));
    expect(await get('/names-and-versions')).toMatchObject({
      m_many: [
        { name: 'm_many', version: 1, createTime: expect.any(Number), updateTime: expect.any(Number) },
        { name: 'm_many', version: 2 },
      ],
    });
    expect(await get('/m_many/versions')).toMatchObject([{ version: 1 }, { version: 2 }]);
    const latest = (await get('/latest-versions')) as { name: string; version: number }[];
    expect(latest.filter(({ name }) => name === 'm_many').map(({ version }) => version)).toEqual([2]);
    expect(await get('?classifier=agent')).toEqual([]);
    expect((await metadata.getWorkflowDef('m_many')).version).toBe(2);
  });

  it('are deleted by version, and the last one takes the tags with it', async () => {
    await metadata.registerWorkflowDef(workflow('m_gone'));
    await metadata.setWorkflowTags([{ key: 'a', value: 'b' }], 'm_gone');
    await metadata.unregisterWorkflow('m_gone', 1);
    await expect(metadata.getWorkflowDef('m_gone', 1)).rejects.toThrow(
      'No such workflow found by name: m_gone, version: 1',
    );
    await metadata.registerWorkflowDef(workflow('m_gone'));
    expect(await metadata.getWorkflowTags('m_gone')).toEqual([]);
    expect((await server.send('DELETE', '/api/metadata/workflow/m_gone/7')).status).toBe(404);
  });

  it('may come as a list, and as the next version', async () => {
    const sent = await server.send('POST', '/api/metadata/workflow', { json: [document('m_a'), document('m_b')] });
    expect(sent).toMatchObject({ status: 200, text: '' });
    await server.send('POST', '/api/metadata/workflow?newVersion=true', { json: document('m_a') });
    expect((await metadata.getWorkflowDef('m_a')).version).toBe(2);
  });

  it('are created or replaced in bulk, with one answer a name', async () => {
    const json = [
      document('m_bulk'),
      document('m_order', 1, { description: 'bulk' }),
      document('m_wrong', 1, { tasks: [] }),
    ];
    const answer = await server.send('PUT', '/api/metadata/workflow', { json });
    expect(answer.json).toEqual({
      bulkErrorResults: { m_wrong: expect.any(String) },
      bulkSuccessfulResults: ['m_bulk', 'm_order'],
      message: 'Bulk Request has been processed.',
    });
  });

  it('are validated without being stored', async () => {
    const validate = (json: object) => server.send('POST', '/api/metadata/workflow/validate', { json });
    expect(await validate(document('m_check'))).toMatchObject({ status: 200, text: '' });
    const twice = document('m_check', 1, { tasks: [simple('a'), simple('a')] });
    expect(await validate(twice)).toMatchObject({
      status: 400,
      json: {
        message: 'Validation failed, check below errors for detail.',
        validationErrors: [{ path: expect.any(String) }],
      },
    });
    expect((await server.send('GET', '/api/metadata/workflow/m_check')).status).toBe(404);
  });

  it('cannot be imported from BPMN nor uploaded, and it is said why', async () => {
    const imported = await server.send('POST', '/api/metadata/workflow-importer/import-bpm', {
      json: { fileName: 'a.bpmn', fileContent: '<x/>' },
    });
    expect(imported).toMatchObject({ status: 400, json: { message: expect.stringContaining('BPMN') } });
    const uploaded = await server.send('POST', '/api/metadata/workflow-task-defs/upload');
    expect(uploaded).toMatchObject({ status: 409, json: { message: expect.stringContaining('object storage') } });
  });
});

describe('tags', () => {
  const tagBody = (key: string, value: string) => ({ key, value, type: 'METADATA' });

  it('of workflows are added, set, read and deleted by the MetadataClient', async () => {
    await metadata.registerWorkflowDef(workflow('m_tagged'));
    await metadata.addWorkflowTag({ key: 'env', value: 'prod' }, 'm_tagged');
    await metadata.addWorkflowTag({ key: 'team', value: 'x' }, 'm_tagged');
    expect(await metadata.getWorkflowTags('m_tagged')).toEqual([tagBody('env', 'prod'), tagBody('team', 'x')]);
    await metadata.deleteWorkflowTag({ key: 'env', value: 'prod' }, 'm_tagged');
    await metadata.setWorkflowTags([{ key: 'only', value: 'this' }], 'm_tagged');
    expect(await metadata.getWorkflowTags('m_tagged')).toEqual([tagBody('only', 'this')]);
    expect(await metadata.getWorkflowDef('m_tagged', undefined, true)).toMatchObject({
      tags: [tagBody('only', 'this')],
    });
    await expect(metadata.getWorkflowTags('m_absent')).rejects.toThrow('No such workflow');
  });

  it('of tasks are added, set, read and deleted by the MetadataClient', async () => {
    await metadata.registerTask(task('m_tagged_task'));
    await metadata.addTaskTag({ key: 'env', value: 'prod' }, 'm_tagged_task');
    expect(await metadata.getTaskTags('m_tagged_task')).toEqual([tagBody('env', 'prod')]);
    await metadata.setTaskTags([{ key: 'a', value: '1' }], 'm_tagged_task');
    await metadata.deleteTaskTag({ key: 'a', value: '1' }, 'm_tagged_task');
    expect(await metadata.getTaskTags('m_tagged_task')).toEqual([]);
  });

  it('may come with a definition, in place of those that are there or beside them', async () => {
    const tags = [{ key: 'a', value: '1' }];
    await server.send('POST', '/api/metadata/workflow', { json: document('m_with', 1, { tags }) });
    await server.send('POST', '/api/metadata/workflow?overwrite=true', {
      json: document('m_with', 1, { tags: [{ key: 'b', value: '2' }] }),
    });
    expect(await metadata.getWorkflowTags('m_with')).toEqual([tagBody('a', '1'), tagBody('b', '2')]);
    await server.send('POST', '/api/metadata/workflow?overwrite=true&overwriteTags=true', {
      json: document('m_with', 1, { tags }),
    });
    expect(await metadata.getWorkflowTags('m_with')).toEqual([tagBody('a', '1')]);
    await metadata.registerTask(task('m_with_task', { tags }));
    expect(await metadata.getTaskTags('m_with_task')).toEqual([tagBody('a', '1')]);
    const found = await server.send('GET', '/api/metadata/taskdefs?tagKey=a&tagValue=1&metadata=true');
    expect(found.json).toMatchObject([{ name: 'm_with_task', tags: [tagBody('a', '1')] }]);
  });

  it('are listed once each, and go by the paths of the Python client too', async () => {
    await server.send('PUT', '/api/metadata/tags/workflow/m_with', { json: [{ key: 'py', value: '3' }] });
    await server.send('POST', '/api/metadata/tags/task/m_with_task', { json: { key: 'py', value: '3' } });
    expect((await server.send('GET', '/api/metadata/tags/workflow/m_with')).json).toEqual([tagBody('py', '3')]);
    const all = (await server.send('GET', '/api/metadata/tags')).json as object[];
    expect(all.filter((each) => 'key' in each && each.key === 'py')).toEqual([tagBody('py', '3')]);
    await server.send('DELETE', '/api/metadata/tags/task/m_with_task', { json: [{ key: 'py', value: '3' }] });
    expect(await metadata.getTaskTags('m_with_task')).toEqual([tagBody('a', '1')]);
  });
});

describe('the limit on runs of a workflow', () => {
  it('is set, read and taken away by the MetadataClient, for all its versions', async () => {
    await metadata.registerWorkflowDef(workflow('m_limited', 1));
    await metadata.registerWorkflowDef(workflow('m_limited', 2));
    expect(await metadata.getWorkflowRateLimit('m_limited')).toBeUndefined();
    await metadata.setWorkflowRateLimit({ rateLimitKey: '${workflow.input.x}', concurrentExecLimit: 2 }, 'm_limited');
    expect(await metadata.getWorkflowRateLimit('m_limited')).toEqual({
      rateLimitKey: '${workflow.input.x}',
      concurrentExecLimit: 2,
      policy: 'QUEUE',
    });
    expect(await metadata.getWorkflowDef('m_limited', 1)).toMatchObject({
      rateLimitConfig: { concurrentExecLimit: 2 },
    });
    await metadata.removeWorkflowRateLimit('m_limited');
    expect(await metadata.getWorkflowRateLimit('m_limited')).toBeUndefined();
  });

  it('holds runs back that start after it was set', async () => {
    await metadata.registerWorkflowDef(workflow('m_held'));
    await metadata.setWorkflowRateLimit({ rateLimitKey: 'one', concurrentExecLimit: 1 }, 'm_held');
    const request = { name: 'm_held', input: {}, priority: 0, idempotencyStrategy: 'FAIL' } as const;
    const start = () => server.useCases.executions.start('default' as never, request);
    const [first, second] = [await start(), await start()];
    if (!first.ok || !second.ok) throw new Error('not started');
    const status = async (id: typeof first.value.executionId) =>
      server.useCases.executions.status('default' as never, id);
    expect(await status(first.value.executionId)).not.toHaveProperty('value.awaitingAdmission');
    expect(await status(second.value.executionId)).toHaveProperty('value.awaitingAdmission', true);
  });
});

describe('SchemaClient', () => {
  const data = { type: 'object', required: ['id'] };
  type Given = Parameters<SchemaClient['registerSchema']>[0];

  it('registers, replaces, numbers, reads, lists and deletes schemas', async () => {
    await schemas.registerSchema([{ name: 's_order', version: 1, type: 'JSON', data }] as unknown as Given);
    expect(await schemas.getSchema('s_order', 1)).toMatchObject({ name: 's_order', version: 1, type: 'JSON', data });
    await schemas.registerSchema([
      { name: 's_order', version: 1, type: 'JSON', data: { type: 'object' } },
    ] as unknown as Given);
    expect((await schemas.getSchema('s_order', 1)).data).toEqual({ type: 'object' });
    await schemas.registerSchema([{ name: 's_order', type: 'JSON', data }] as unknown as Given, true);
    expect(await schemas.getSchemaByName('s_order')).toMatchObject({ version: 2, data });
    const listed = (await schemas.getAllSchemas()).filter(({ name }) => name === 's_order');
    expect(listed.map(({ version }) => version)).toEqual([1, 2]);
    await schemas.deleteSchema('s_order', 1);
    await expect(schemas.getSchema('s_order', 1)).rejects.toThrow('There is no schema s_order');
    await schemas.deleteSchemaByName('s_order');
    await expect(schemas.getSchemaByName('s_order')).rejects.toThrow('There is no schema s_order');
    await expect(schemas.deleteSchemaByName('s_order')).rejects.toThrow('There is no schema s_order');
  });

  it('says that schemas of other kinds are not checked here', async () => {
    const avro = await server.send('POST', '/api/schema', { json: [{ name: 's_avro', type: 'AVRO', data: {} }] });
    expect(avro).toMatchObject({ status: 400, json: { message: expect.stringContaining('JSON') } });
  });
});
