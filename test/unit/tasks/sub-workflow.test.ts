import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import type { Step } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const sub = (subWorkflowParam: JsonValue, fields: JsonObject = {}): Step => ({
  name: 'child',
  taskReferenceName: 'c',
  type: 'SUB_WORKFLOW',
  subWorkflowParam,
  ...fields,
});

const start = (startWorkflow: JsonValue): Step => ({
  name: 'child',
  taskReferenceName: 'c',
  type: 'START_WORKFLOW',
  inputParameters: { startWorkflow },
});

const given = (step: Step, input: JsonObject = {}, started = {}): Run => new Run({ tasks: [step] }, { input, started });

/** What the message says that starts the child. */
const startOf = (run: Run): JsonObject | undefined =>
  run.published.flatMap((command) => (command.type === 'PublishMessage' ? [command.payload] : []))[0];

describe('SUB_WORKFLOW', () => {
  it.each<[string, JsonValue, JsonObject, string]>([
    ['a priority out of range', { name: 'x', priority: '${workflow.input.p}' }, { p: 100 }, 'priority must be'],
    [
      'a correlation id that is no text',
      { name: 'x', correlationId: '${workflow.input.p}' },
      { p: {} },
      'correlationId',
    ],
    ['domains that are no texts', { name: 'x', taskToDomain: '${workflow.input.p}' }, { p: { a: 1 } }, 'taskToDomain'],
    ['a name that is none', { name: '${workflow.input.p}' }, {}, 'names no workflow'],
    ['a definition that is none', { name: 'x', workflowDefinition: '${workflow.input.p}' }, { p: 7 }, 'it is 7'],
    [
      'what data leads to a secret',
      { name: '${workflow.${workflow.input.p}}' },
      { p: 'secrets.x' },
      'subWorkflowParam',
    ],
  ])('with %s fails at once and starts nothing', (_, param, input, reason) => {
    const run = given(sub(param), input);
    expect([run.status, startOf(run)]).toEqual(['FAILED', undefined]);
    expect(run.seen('c').reason).toContain(reason);
  });

  it('starts its child with what its run was started with where it says nothing else', () => {
    const started = { priority: 7, correlationId: 'c-1', taskToDomain: { a: 'd' }, depth: 2 };
    const run = given(sub({ name: 'x', version: 3 }, { inputParameters: { n: 1 } }), {}, started);
    expect(startOf(run)).toMatchObject({
      name: 'x',
      version: 3,
      definition: null,
      dialect: 'v1',
      input: { n: 1 },
      priority: 7,
      correlationId: 'c-1',
      taskToDomain: { a: 'd' },
      idempotencyKey: null,
      idempotencyStrategy: null,
      depth: 3,
    });
  });

  it('starts it with what it says itself, and with nothing where its run has nothing', () => {
    const own = { name: 'x', priority: 9, correlationId: 'own', taskToDomain: { a: 'e' }, idempotencyKey: 'k' };
    expect(startOf(given(sub({ ...own, idempotencyStrategy: 'FAIL' })))).toMatchObject({
      ...own,
      idempotencyStrategy: 'FAIL',
      depth: 1,
    });
    expect(startOf(given(sub({ name: 'x' })))).toMatchObject({ priority: 0, correlationId: null, taskToDomain: null });
  });

  it('calls a child that is written out by the name of its task', () => {
    const definition = { name: 'inner', version: 1, tasks: [{ name: 'n', taskReferenceName: 'n', type: 'NOOP' }] };
    const run = given(sub({ workflowDefinition: definition }));
    expect(startOf(run)).toMatchObject({ name: 'child', version: null, definition: { name: 'inner' } });
  });
});

describe('START_WORKFLOW', () => {
  it.each<[JsonValue, string]>([
    [{ name: 'x', input: [1] }, 'the input of startWorkflow must be an object'],
    [{ name: 'x', workflowDef: 'text' }, 'workflowDef must be a workflow definition'],
    [{ name: 'x', version: -1 }, 'version must be a whole number from 0'],
    [{ version: 1 }, 'startWorkflow names no workflow'],
    [[], 'the input "startWorkflow" must be an object'],
  ])('with %j fails at once and starts nothing', (request, reason) => {
    const run = given(start('${workflow.input.start}'), { start: request });
    expect([run.status, startOf(run), run.seen('c').reason]).toEqual([
      'FAILED',
      undefined,
      expect.stringContaining(reason),
    ]);
  });

  it('starts a run at no depth, with the input that it says, or none', () => {
    expect(startOf(given(start({ name: 'x', input: { n: 1 } }), {}, { depth: 5 }))).toMatchObject({
      input: { n: 1 },
      depth: 0,
      definition: null,
    });
    expect(startOf(given(start({ name: 'x' })))).toMatchObject({ input: {} });
  });
});
