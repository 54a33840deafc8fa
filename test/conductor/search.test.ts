import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SEARCH_DEPTH_MAX, SEARCH_TERMS_MAX } from '../../src/adapters/http/conductor/search/parse-search.ts';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { given, hasStatus, simple, work } from './support/driven-runs.ts';

let server: ConductorServer;
/** Runs by a name of their own, in the order in which they were started. */
const runs: Record<string, string> = {};

const start = async (key: string, body: Readonly<Record<string, unknown>>): Promise<void> => {
  runs[key] = (await server.send('POST', '/api/workflow', { json: body })).text;
};

beforeAll(async () => {
  server = await startConductorServer();
  await given(server, 'order', [simple('order_step')]);
  await given(server, 'order-eu', [simple('order_eu_step')]);
  await start('plain', { name: 'order', input: { city: 'Bonn', sum: 5 } });
  await start('urgent', { name: 'order', correlationId: "it's", priority: 9, input: { city: 'Köln' } });
  await start('eu', { name: 'order-eu', correlationId: 'c-9', input: { nested: { a: [1, { b: 'x' }] } } });
  await work(server, 'order_eu_step', { paid: true }, 'FAILED_WITH_TERMINAL_ERROR');
  await hasStatus(server, runs.eu ?? '', 'FAILED');
});
afterAll(() => server.close());

type Hits = Readonly<{ totalHits: number; results: readonly Readonly<{ workflowId: string }>[] }>;

const get = (path: string, query: Readonly<Record<string, string>>) =>
  server.send('GET', `/api/workflow/${path}?${new URLSearchParams(query)}`);

/** The own names of the runs found. */
const found = async (query: Readonly<Record<string, string>>, path = 'search'): Promise<readonly string[]> => {
  const answer = await get(path, query);
  expect(answer.status, answer.text).toBe(200);
  const { results } = answer.json as Hits;
  const names = new Map(Object.entries(runs).map(([name, id]) => [id, name]));
  return results.map(({ workflowId }) => names.get(workflowId) ?? workflowId);
};

const ALL = ['eu', 'urgent', 'plain'];

describe('a query finds', () => {
  test.each<[string, readonly string[]]>([
    ['', ALL],
    ['*', ALL],
    ['workflowType=order', ['urgent', 'plain']],
    ["workflowType = 'order'", ['urgent', 'plain']],
    ['workflowType = "order" AND priority > 5', ['urgent']],
    ['workflowType = order*', ALL],
    ['workflowType IN (order, "order-eu")', ALL],
    ['workflowType NOT IN (order)', ['eu']],
    ['status IN (RUNNING,PAUSED)', ['urgent', 'plain']],
    ["status = 'FAILED'", ['eu']],
    ["status != 'FAILED'", ['urgent', 'plain']],
    ['NOT status = FAILED', ['urgent', 'plain']],
    ['status = FAILED OR priority >= 9', ['eu', 'urgent']],
    ['(status = FAILED OR priority = 0) AND workflowType = order', ['plain']],
    ['priority <= 0 AND NOT (workflowType = order-eu OR status = COMPLETED)', ['plain']],
    ['correlationId = "it\'s"', ['urgent']],
    ["correlationId = 'it\\'s'", ['urgent']],
    ['correlationId != c-9', ['urgent', 'plain']],
    ['correlationId = *', ['eu', 'urgent']],
    ['startTime > 0 AND startTime < 4102444800000', ALL],
    ['endTime > 0', ['eu']],
    ['NOT endTime > 0', ['urgent', 'plain']],
    ['version = 1 AND version < 2', ALL],
    ['input.city = Köln', ['urgent']],
    ["input.city = 'B*'", ['plain']],
    ['input.sum = 5', ['plain']],
    ['input.nested.a.1.b = x', ['eu']],
    ['output.paid = true', []],
    ['taskDefName = order_eu_step', ['eu']],
    ['taskType = order_step', ['urgent', 'plain']],
    ['referenceTaskName = order*', ALL],
    ['taskStatus = FAILED_WITH_TERMINAL_ERROR', ['eu']],
    ['taskStatus IN (SCHEDULED)', ['urgent', 'plain']],
    ['classifier = workflow', ALL],
    ['classifier = agent', []],
    ['workflowId = nonsense', []],
    ['parentWorkflowId = 0192a3b4-c5d6-7e8f-9a0b-000000000000', []],
    ['status = NONSENSE', []],
  ])('%s', async (query, expected) => {
    expect(await found({ query })).toEqual(expected);
  });

  test('a run by its id and by the id of a task', async () => {
    const id = runs.plain ?? '';
    expect(await found({ query: `workflowId="${id}"` })).toEqual(['plain']);
    const { json } = await server.send('GET', `/api/workflow/${id}`);
    const { tasks } = json as { tasks: readonly { taskId: string }[] };
    expect(await found({ query: `taskId = ${tasks[0]?.taskId}` })).toEqual(['plain']);
  });
});

describe('a query is refused with what is wrong about it', () => {
  test.each<[string, string]>([
    ['colour = blue', 'There is no field colour'],
    ['status', 'A comparison is expected'],
    ['status =', 'A value is expected'],
    ['= RUNNING', 'A field is expected'],
    ["status = 'RUNNING", 'is not closed'],
    ['status = RUNNING AND', 'A field is expected'],
    ['status = RUNNING priority = 1', 'There is more after the end'],
    ['(status = RUNNING', 'A closing parenthesis is missing'],
    ['status IN RUNNING', 'A list in parentheses'],
    ['status IN (RUNNING', 'is not closed'],
    ['priority > high', 'is not a number'],
    ['priority IN (1, x)', 'is not a number'],
    ['input.city > B', 'can only be compared'],
    ['status = ! RUNNING', 'no meaning'],
    [
      Array(SEARCH_TERMS_MAX + 1)
        .fill('a=1')
        .join(' OR ')
        .replaceAll('a', 'name'),
      'more than',
    ],
    [`${'('.repeat(SEARCH_DEPTH_MAX + 2)}name=a${')'.repeat(SEARCH_DEPTH_MAX + 2)}`, 'nested deeper'],
  ])('%.60s', async (query, message) => {
    const answer = await get('search', { query });
    expect(answer.json).toMatchObject({ status: 400, message: expect.stringContaining(message) });
  });
});

describe('a search', () => {
  test('is sorted by fields of the run, what has none last', async () => {
    expect(await found({ sort: 'startTime:ASC' })).toEqual(['plain', 'urgent', 'eu']);
    expect(await found({ sort: 'priority:DESC|workflowType' })).toEqual(['urgent', 'plain', 'eu']);
    expect(await found({ sort: 'endTime:DESC|startTime:ASC' })).toEqual(['eu', 'plain', 'urgent']);
    expect((await get('search', { sort: 'colour:ASC' })).status).toBe(400);
    expect((await get('search', { sort: 'startTime:SIDEWAYS' })).status).toBe(400);
  });

  test('is read a page at a time, all hits counted', async () => {
    const page = await get('search', { start: '1', size: '1' });
    expect(page.json).toMatchObject({ totalHits: 3, results: [{ workflowId: runs.urgent }] });
    expect((await get('search', { start: '9', size: '5' })).json).toMatchObject({ totalHits: 3, results: [] });
    expect((await get('search', { size: '5001' })).status).toBe(400);
  });

  test('looks for words, and for a document, in input and output', async () => {
    expect(await found({ freeText: 'bonn' })).toEqual(['plain']);
    expect(await found({ freeText: 'ORDER köln' })).toEqual(['urgent']);
    expect(await found({ freeText: '{"nested":{"a":[{"b":"x"}]}}' })).toEqual(['eu']);
    expect(await found({ freeText: '{"sum":6}' })).toEqual([]);
    expect(await found({ freeText: '*', query: 'status=FAILED' })).toEqual(['eu']);
    expect((await get('search', { freeText: '{"a' })).status).toBe(400);
  });

  test('takes what is meant to break out of it by its word', async () => {
    for (const text of ["'; drop table x; --", '%', '%_', '\\', '" or ""="']) {
      expect(await found({ freeText: text.replaceAll(' ', '+') })).toEqual([]);
    }
    expect(await found({ query: `workflowType = "' or true --"` })).toEqual([]);
    expect(await found({ query: 'input.x = "%"' })).toEqual([]);
  });

  test('answers summaries with payloads as text', async () => {
    const { json } = await get('search', { query: 'status=FAILED' });
    expect((json as Hits).results[0]).toMatchObject({
      workflowType: 'order-eu',
      version: 1,
      correlationId: 'c-9',
      input: '{"nested":{"a":[1,{"b":"x"}]}}',
      failedReferenceTaskNames: 'order_eu_step',
      executionTime: expect.any(Number),
    });
  });

  test('answers runs, by runs or by their tasks', async () => {
    expect((await get('search-v2', { query: 'priority=9' })).json).toMatchObject({
      totalHits: 1,
      results: [{ workflowId: runs.urgent, tasks: [], workflowDefinition: { name: 'order' } }],
    });
    expect(await found({ query: 'status = FAILED_WITH_TERMINAL_ERROR' }, 'search-by-tasks')).toEqual(['eu']);
    expect(await found({ query: 'taskType = order_step AND status = SCHEDULED' }, 'search-by-tasks-v2')).toEqual([
      'urgent',
      'plain',
    ]);
  });

  test('leaves out what runs below another, and what is no workflow, where that is asked', async () => {
    const sub = { name: 'sub', taskReferenceName: 'sub', type: 'SUB_WORKFLOW', subWorkflowParam: { name: 'leaf' } };
    await given(server, 'leaf', [simple('leaf_step')]);
    await given(server, 'tree', [sub]);
    await start('tree', { name: 'tree' });
    await work(server, 'leaf_step');
    await hasStatus(server, runs.tree ?? '', 'COMPLETED');
    expect(await found({ query: 'workflowType IN (leaf, tree)', topLevelOnly: 'true' })).toEqual(['tree']);
    expect(await found({ query: `parentWorkflowId = ${runs.tree}` })).toHaveLength(1);
    expect(await found({ classifier: 'agent' })).toEqual([]);
  });
});
