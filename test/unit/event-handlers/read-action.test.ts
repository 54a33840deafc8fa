import { expect, it } from 'vitest';
import type { EventActionType } from '../../../src/domain/event-handler/event-handler.ts';
import { readAction } from '../../../src/domain/event-handler/resolved-action.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';

const RUN = '01a22cd0-44e1-71c6-868c-43bf55b321f8';

it.each<[EventActionType, JsonObject, string]>([
  ['START_WORKFLOW', {}, 'name is the name of a workflow; it is null.'],
  ['START_WORKFLOW', { name: '' }, 'name is the name of a workflow; it is "".'],
  ['START_WORKFLOW', { name: 'n'.repeat(256) }, 'name is the name of a workflow'],
  ['START_WORKFLOW', { name: 'order', input: 1 }, 'input is an object; it is 1.'],
  ['START_WORKFLOW', { name: 'order', taskToDomain: 'gold' }, 'taskToDomain is an object; it is "gold".'],
  ['START_WORKFLOW', { name: 'order', version: 'two' }, 'version is a whole number; it is "two".'],
  ['START_WORKFLOW', { name: 'order', version: 1.5 }, 'version is a whole number; it is 1.5.'],
  ['START_WORKFLOW', { name: 'order', version: -1 }, 'version is a whole number; it is -1.'],
  ['START_WORKFLOW', { name: 'order', priority: 100 }, 'priority is a number from 0 to 99; it is 100.'],
  ['COMPLETE_TASK', { taskId: 'nonsense' }, 'taskId is the id of a task; it is "nonsense".'],
  ['COMPLETE_TASK', {}, 'workflowId is the id of a run; it is null.'],
  ['FAIL_TASK', { workflowId: RUN }, 'it needs a taskId, or a workflowId and a taskRefName.'],
  ['FAIL_TASK', { workflowId: RUN, taskRefName: 'pay', output: [] }, 'output is an object; it is [].'],
  ['TERMINATE_WORKFLOW', { workflowId: 7 }, 'workflowId is the id of a run; it is 7.'],
  ['UPDATE_VARIABLES', { workflowId: 'x' }, 'workflowId is the id of a run; it is "x".'],
  ['UPDATE_VARIABLES', { workflowId: RUN, variables: 'x' }, 'variables is an object; it is "x".'],
  ['SIGNAL', {}, 'workflowId is the id of a run; it is null.'],
  ['SIGNAL', { workflowId: RUN, output: true }, 'output is an object; it is true.'],
  ['SIGNAL', { workflowId: RUN, status: 'DONE' }, 'status is one of COMPLETED, FAILED, FAILED_WITH_TERMINAL_ERROR'],
])('refuses %s with %o, and says why', (type, input, reason) => {
  const read = readAction(type, input);
  if (read.ok) throw new Error('expected a refusal');
  expect(read.error).toContain(reason);
});

it.each<[EventActionType, JsonObject, JsonObject]>([
  [
    'START_WORKFLOW',
    { name: 'order', version: '3', priority: '9' },
    { name: 'order', version: 3, priority: 9, input: {} },
  ],
  [
    'START_WORKFLOW',
    { name: 'order', version: 0, correlationId: 42 },
    { name: 'order', correlationId: '42', priority: 0 },
  ],
  [
    'START_WORKFLOW',
    { name: 'order', taskToDomain: { pay: 'gold', ship: 1 } },
    { name: 'order', taskToDomain: { pay: 'gold' } },
  ],
  [
    'COMPLETE_TASK',
    { taskId: `${RUN}.2`, output: { a: 1 } },
    { output: { a: 1 }, task: { executionId: RUN, scheduledSeq: 2 } },
  ],
  [
    'FAIL_TASK',
    { workflowId: RUN, taskRefName: 'pay', reason: 'no' },
    { reason: 'no', task: { executionId: RUN, ref: 'pay' } },
  ],
  ['TERMINATE_WORKFLOW', { workflowId: RUN, reason: 'enough' }, { executionId: RUN, reason: 'enough' }],
  ['TERMINATE_WORKFLOW', { workflowId: RUN }, { executionId: RUN }],
  ['UPDATE_VARIABLES', { workflowId: RUN, append: 'true' }, { variables: {}, appends: true }],
  ['UPDATE_VARIABLES', { workflowId: RUN, variables: { a: 1 }, append: 1 }, { variables: { a: 1 }, appends: false }],
  ['SIGNAL', { workflowId: RUN }, { status: 'COMPLETED', output: {} }],
  ['SIGNAL', { workflowId: RUN, taskRefName: 'wait', status: 'FAILED' }, { ref: 'wait', status: 'FAILED' }],
])('reads %s with %o', (type, input, expected) => {
  expect(readAction(type, input)).toMatchObject({ ok: true, value: { type, ...expected } });
});
