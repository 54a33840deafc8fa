import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { problemsOf as problemsOfWorkflow, simple, workflow } from './given-definitions.ts';

/** What registration finds wrong with one step. */
const problemsOf = (step: JsonObject): readonly string[] => problemsOfWorkflow(workflow([simple('s', step)]));

const child = (subWorkflowParam: JsonObject): JsonObject => ({ type: 'SUB_WORKFLOW', subWorkflowParam });
const inline = (tasks: readonly JsonObject[], fields: JsonObject = {}): JsonObject =>
  child({ workflowDefinition: { name: 'inner', tasks, ...fields } });
const started = (startWorkflow: JsonObject | string): JsonObject => ({
  type: 'START_WORKFLOW',
  inputParameters: { startWorkflow },
});
const AT = 'tasks[0].subWorkflowParam';

describe('what a SUB_WORKFLOW says of its child', () => {
  it.each<[string, JsonObject, readonly string[]]>([
    ['a name', child({ name: 'other' }), []],
    [
      'expressions',
      child({ name: '${workflow.input.n}', version: '${workflow.input.v}', priority: '${workflow.input.p}' }),
      [],
    ],
    ['a version as text', child({ name: 'other', version: '3' }), []],
    ['a definition by expression', child({ workflowDefinition: '${workflow.input.d}' }), []],
    ['nothing', { type: 'SUB_WORKFLOW' }, [`VALIDATION_FAILED ${AT}`]],
    ['no name', child({ version: 1 }), [`VALIDATION_FAILED ${AT}.name`]],
    ['a version that is none', child({ name: 'other', version: 'latest' }), [`VALIDATION_FAILED ${AT}.version`]],
    ['a negative version', child({ name: 'other', version: -1 }), [`VALIDATION_FAILED ${AT}.version`]],
    ['a priority above 99', child({ name: 'other', priority: 100 }), [`VALIDATION_FAILED ${AT}.priority`]],
    [
      'a strategy nobody knows',
      child({ name: 'o', idempotencyStrategy: 'MAYBE' }),
      [`VALIDATION_FAILED ${AT}.idempotencyStrategy`],
    ],
    [
      'domains that are no texts',
      child({ name: 'o', taskToDomain: { a: 1 } }),
      [`VALIDATION_FAILED ${AT}.taskToDomain`],
    ],
    ['a field that nobody knows', child({ name: 'o', prioritty: 1 }), [`UNKNOWN_FIELD ${AT}.prioritty`]],
    ['an expression that does not parse', child({ name: '${' }), [`EXPRESSION_INVALID ${AT}.name`]],
    ['an expression that names no task', child({ name: '${nobody.output.x}' }), [`EXPRESSION_INVALID ${AT}.name`]],
    ['a secret', child({ name: '${workflow.secrets.x}' }), [`EXPRESSION_INVALID ${AT}.name`]],
  ])('%s', (_, step, expected) => expect(problemsOf(step)).toEqual(expected));
});

describe('a definition that is written out in a step', () => {
  const noop = { name: 'n', taskReferenceName: 'n', type: 'NOOP' };
  it.each<[string, JsonObject, readonly string[]]>([
    ['registers with its parent', inline([noop]), []],
    ['may leave its name to the step', child({ name: 'x', workflowDefinition: { tasks: [noop] } }), []],
    [
      'reads its own tasks, not the parent’s',
      inline([{ ...noop, inputParameters: { x: '${s.output.x}' } }]),
      [`EXPRESSION_INVALID ${AT}.workflowDefinition.tasks[0].inputParameters.x`],
    ],
    ['may use the refs of its parent for itself', inline([{ ...noop, taskReferenceName: 's' }]), []],
    ['has tasks', inline([]), [`VALIDATION_FAILED ${AT}.workflowDefinition.tasks`]],
    [
      'has scripts that parse',
      inline([{ ...noop, type: 'INLINE', inputParameters: { expression: '(' } }]),
      [`EXPRESSION_INVALID ${AT}.workflowDefinition.tasks[0].inputParameters.expression`],
    ],
    [
      'may hold another, which is judged too',
      inline([{ ...noop, ...inline([{ ...noop, type: 'NONSENSE' }]) }]),
      [`UNKNOWN_TASK_TYPE ${AT}.workflowDefinition.tasks[0].subWorkflowParam.workflowDefinition.tasks[0].type`],
    ],
  ])('%s', (_, step, expected) => expect(problemsOf(step)).toEqual(expected));
});

describe('what a START_WORKFLOW is told', () => {
  it.each<[string, JsonObject, readonly string[]]>([
    ['a request', started({ name: 'other', input: { a: 1 } }), []],
    ['a request by expression', started('${workflow.input.request}'), []],
    ['a request beside the input', { type: 'START_WORKFLOW', startWorkflow: { name: 'other' } }, []],
    ['nothing', { type: 'START_WORKFLOW' }, ['VALIDATION_FAILED tasks[0].inputParameters.startWorkflow']],
    ['no name', started({ input: {} }), ['VALIDATION_FAILED tasks[0].inputParameters.startWorkflow.name']],
    [
      'a field that nobody knows',
      started({ name: 'o', inputs: {} }),
      ['UNKNOWN_FIELD tasks[0].inputParameters.startWorkflow.inputs'],
    ],
    [
      'a priority that is none',
      started({ name: 'o', priority: 'high' }),
      ['VALIDATION_FAILED tasks[0].inputParameters.startWorkflow.priority'],
    ],
  ])('%s', (_, step, expected) => expect(problemsOf(step)).toEqual(expected));
});

describe('fields that Conductor has and this page does not', () => {
  it('are ignored on /api', () => {
    const step = child({ name: 'o', prioritty: 1 });
    const tasks = [simple('s', step), simple('t', { ...started({ name: 'o', createdBy: 'me' }) })];
    expect(problemsOfWorkflow(workflow(tasks), 'conductor')).toEqual([]);
  });
});
