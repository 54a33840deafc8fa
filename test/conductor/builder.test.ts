import * as sdk from '@io-orkes/conductor-javascript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TASK_TYPES } from '../../src/domain/definition/task-types.ts';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { hasStatus, work } from './support/driven-runs.ts';
import { sdkFor } from './support/sdk.ts';

let server: ConductorServer;
let workflows: sdk.WorkflowExecutor;

beforeAll(async () => {
  server = await startConductorServer();
  workflows = (await sdkFor(server.url)).getWorkflowClient();
});
afterAll(() => server.close());

const MODEL = { provider: 'p', model: 'm' };
const CALL = { uri: 'http://127.0.0.1:1/', method: 'GET' } as const;
const KAFKA = { topic: 't', value: 'v', bootStrapServers: 'b', headers: {}, key: 'k', keySerializer: 's' };

type Step = sdk.WorkflowTask | sdk.TaskDefTypes;
const worker = (ref: string) => sdk.simpleTask(ref, 'built_step', {});

/** What each function of the builder makes, by its name; a fork stands with its join, as it must. */
const VOCABULARY: Readonly<Record<string, () => readonly unknown[]>> = {
  simpleTask: () => [sdk.simpleTask('a', 'built_step', { x: 1 })],
  callMcpToolTask: () => [sdk.callMcpToolTask('a', 's', 'm')],
  conductorEventTask: () => [sdk.conductorEventTask('a', 'e')],
  eventTask: () => [sdk.eventTask('a', 'conductor', 'e')],
  sqsEventTask: () => [sdk.sqsEventTask('a', 'q')],
  doWhileTask: () => [sdk.doWhileTask('a', '$.a.iteration < 2', [worker('b')])],
  newLoopTask: () => [sdk.newLoopTask('a', 2, [worker('b')])],
  dynamicForkTask: () => [sdk.dynamicForkTask('a', [worker('b')], '{}'), sdk.joinTask('j', [])],
  dynamicTask: () => [sdk.dynamicTask('a', 'built_step')],
  forkTask: () => [sdk.forkTask('a', [worker('b'), worker('c')]), sdk.joinTask('j', ['c'])],
  forkTaskJoin: () => sdk.forkTaskJoin('a', [worker('b')]),
  joinTask: () => [sdk.forkTask('a', [worker('b')]), sdk.joinTask('j', ['b'])],
  generateAudioTask: () => [sdk.generateAudioTask('a', 'p', 'm')],
  generateImageTask: () => [sdk.generateImageTask('a', 'p', 'm', 'x')],
  getDocumentTask: () => [sdk.getDocumentTask('a', 'http://x/')],
  httpPollTask: () => [sdk.httpPollTask('a', { http_request: CALL, terminationCondition: 'true' })],
  httpTask: () => [sdk.httpTask('a', CALL)],
  humanTask: () => [sdk.humanTask('a')],
  inlineTask: () => [sdk.inlineTask('a', '1 + 1')],
  jsonJqTask: () => [sdk.jsonJqTask('a', '{ two: 2 }')],
  kafkaPublishTask: () => [sdk.kafkaPublishTask('a', KAFKA)],
  listMcpToolsTask: () => [sdk.listMcpToolsTask('a', 's')],
  llmChatCompleteTask: () => [sdk.llmChatCompleteTask('a', 'p', 'm')],
  llmTextCompleteTask: () => [sdk.llmTextCompleteTask('a', 'p', 'm', 'x')],
  llmGenerateEmbeddingsTask: () => [sdk.llmGenerateEmbeddingsTask('a', 'p', 'm', 'x')],
  llmIndexTextTask: () => [sdk.llmIndexTextTask('a', 'v', 'i', MODEL, 'x', 'd')],
  llmIndexDocumentTask: () => [sdk.llmIndexDocumentTask('a', 'v', 'i', MODEL, 'http://x/', 'text/plain')],
  llmQueryEmbeddingsTask: () => [sdk.llmQueryEmbeddingsTask('a', 'v', 'i', [1])],
  llmSearchEmbeddingsTask: () => [sdk.llmSearchEmbeddingsTask('a', 'v', 'i', [1])],
  llmSearchIndexTask: () => [sdk.llmSearchIndexTask('a', 'v', 'i', MODEL, 'q')],
  llmStoreEmbeddingsTask: () => [sdk.llmStoreEmbeddingsTask('a', 'v', 'i', [1])],
  setVariableTask: () => [sdk.setVariableTask('a', { x: 1 })],
  startWorkflowTask: () => [sdk.startWorkflowTask('a', 'built_child', {}, 1)],
  subWorkflowTask: () => [sdk.subWorkflowTask('a', 'built_child', 1)],
  switchTask: () => [sdk.switchTask('a', '"x"', { x: [worker('b')] }, [worker('c')])],
  terminateTask: () => [sdk.terminateTask('a', 'COMPLETED', 'enough')],
  waitForWebhookTask: () => [sdk.waitForWebhookTask('a', { matches: {} })],
  pullWorkflowMessages: () => [sdk.pullWorkflowMessages('a', 1)],
};

/** Not in a name that ends in Task, or not about steps. */
const OTHERS = ['waitTaskDuration', 'waitTaskUntil'];
const WAITS = {
  waitTaskDuration: () => [sdk.waitTaskDuration('a', '1 seconds')],
  waitTaskUntil: () => [sdk.waitTaskUntil('a', '2020-01-01 00:00 GMT')],
};

const built: typeof VOCABULARY = { ...VOCABULARY, ...WAITS };

const register = (name: string, steps: readonly unknown[]): Promise<void> =>
  new sdk.ConductorWorkflow(workflows, name).add(steps as sdk.WorkflowTask[]).register(true);

describe('the builder of the SDK', () => {
  test('has no step that is not tried here', () => {
    const offered = Object.keys(sdk).filter(
      (name) => /^(?!generate[A-Z].*Task$|get|new).*Task$/.test(name) && typeof (sdk as never)[name] === 'function',
    );
    const tried = new Set([...Object.keys(VOCABULARY), ...OTHERS, 'isTaskInProgress']);
    expect(offered.filter((name) => !tried.has(name))).toEqual([]);
  });

  test.each(Object.keys(built))('%s makes what registers, and is read as it was', async (name) => {
    const steps = built[name]?.() ?? [];
    await register(`built_${name}`, steps);
    const stored = await server.send('GET', `/api/metadata/workflow/built_${name}`);
    expect(stored.json).toMatchObject({
      tasks: (steps as readonly Step[]).map(({ type, taskReferenceName }) => ({ type, taskReferenceName })),
    });
  });

  const NEEDS_MORE: ReadonlySet<string> = new Set(['FORK_JOIN_DYNAMIC', 'DYNAMIC']);

  /** Steps that end by themselves here: no worker, no call, nobody who answers. */
  const ALONE = [
    'inlineTask',
    'jsonJqTask',
    'setVariableTask',
    'terminateTask',
    'waitTaskDuration',
    'waitTaskUntil',
    'startWorkflowTask',
  ] as const;

  test.each(ALONE)('%s runs', async (name) => {
    await register('built_child', [sdk.setVariableTask('v', { x: 1 })]);
    await register(`built_alone_${name}`, built[name]?.() ?? []);
    const id = await workflows.startWorkflow({ name: `built_alone_${name}`, version: 1 });
    await hasStatus(server, id, 'COMPLETED');
  });

  test('makes a workflow of forks, loops, choices and children that runs', async () => {
    await register('built_child', [sdk.setVariableTask('v', { x: 1 })]);
    await register('built_whole', [
      ...sdk.forkTaskJoin('fork', [worker('left'), worker('right')]),
      sdk.newLoopTask('loop', 2, [worker('body')]),
      sdk.switchTask('choice', 'x', { x: [sdk.subWorkflowTask('child', 'built_child', 1)] }, []),
    ]);
    const id = await workflows.startWorkflow({ name: 'built_whole', version: 1 });
    for (let step = 0; step < 4; step += 1) await work(server, 'built_step');
    await hasStatus(server, id, 'COMPLETED');
    const { tasks = [] } = await workflows.getWorkflow(id, true);
    expect(tasks.map(({ referenceTaskName }) => referenceTaskName)).toEqual(
      expect.arrayContaining(['fork', 'left', 'right', 'loop', 'body__1', 'body__2', 'choice', 'child']),
    );
  });

  test('has a type that runs here for all but the calls of models and what stores for them', () => {
    const types = Object.values(built).flatMap((make) => (make() as readonly Step[]).map(({ type }) => type ?? ''));
    const unknown = types.filter((type) => !(TASK_TYPES as readonly string[]).includes(type) && !NEEDS_MORE.has(type));
    expect(unknown.filter((type) => !/^(LLM_|GENERATE_|CALL_MCP|LIST_MCP|GET_DOCUMENT)/.test(type))).toEqual([]);
  });
});
