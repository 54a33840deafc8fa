import { describe, expect, test } from 'vitest';
import { executionDetail, historyEvent } from '../../../src/adapters/http/schemas/executions.ts';
import { taskDocumentOf, workflowDocumentOf } from '../../../src/adapters/http/wire/definition-wire.ts';
import { historyEventOf } from '../../../src/adapters/http/wire/event-wire.ts';
import { detailOf, stateOf } from '../../../src/adapters/http/wire/execution-wire.ts';
import { parseWorkflowDefinition } from '../../../src/domain/definition/parse-definition.ts';
import { parseTaskDefinition } from '../../../src/domain/definition/parse-task-definition.ts';
import type { WorkflowEvent } from '../../../src/domain/execution/events.ts';
import { taskIdOf } from '../../../src/domain/kernel/brand.ts';
import {
  DETAIL,
  NOON,
  NOON_TEXT,
  RUN,
  TASK_DEFINITION,
  UNKNOWN_RUN,
  VIEW,
  WORKFLOW,
} from '../../integration/http/support/samples.ts';

describe('a definition that was read can be registered again and is the same', () => {
  test('a workflow definition, nested tasks and overrides included', () => {
    expect(parseWorkflowDefinition(workflowDocumentOf(WORKFLOW), 'v1')).toEqual({ ok: true, value: WORKFLOW });
  });

  test('a task definition, whose durations are seconds on the wire', () => {
    expect(taskDocumentOf(TASK_DEFINITION)).toMatchObject({ retryDelaySeconds: 3, heartbeatTimeout: 20 });
    expect(parseTaskDefinition(taskDocumentOf(TASK_DEFINITION), 'v1')).toEqual({ ok: true, value: TASK_DEFINITION });
  });
});

describe('an event on the wire', () => {
  test('has its instants as text, its names translated, and its payload untouched', () => {
    const event: WorkflowEvent = {
      type: 'TaskClosed',
      at: NOON,
      ref: 'bill',
      iteration: 2,
      attempt: 1,
      status: 'FAILED',
      output: { at: 5, ref: 'mine' },
      startedAt: NOON,
      disposition: { kind: 'retry', visibleAt: NOON },
    };
    const wire = historyEventOf({ seq: 7, event });
    expect(wire).toEqual({
      seq: 7,
      type: 'TaskClosed',
      at: NOON_TEXT,
      taskRef: 'bill',
      iteration: 2,
      attempt: 1,
      status: 'FAILED',
      output: { at: 5, ref: 'mine' },
      startedAt: NOON_TEXT,
      disposition: { kind: 'retry', visibleAt: NOON_TEXT },
    });
    expect(historyEvent.safeParse(wire).success).toBe(true);
  });

  test('of a child names the run that started it', () => {
    const parent = {
      executionId: UNKNOWN_RUN,
      taskId: taskIdOf(UNKNOWN_RUN, 3),
      ref: 'child',
      iteration: 0,
      attempt: 1,
    };
    const event: WorkflowEvent = {
      type: 'ExecutionStarted',
      at: NOON,
      namespace: VIEW.namespace,
      definitionHash: 'abc',
      name: 'order',
      version: 1,
      input: {},
      variables: {},
      priority: 0,
      parent,
      failedExecutionId: RUN,
    };
    expect(historyEventOf({ seq: 1, event })).toMatchObject({
      parent: { workflowId: UNKNOWN_RUN, taskRef: 'child', iteration: 0, attempt: 1 },
      failedWorkflowId: RUN,
    });
  });
});

describe('a run on the wire', () => {
  test('shows the live lease on its open task', () => {
    const detail = detailOf(DETAIL);
    expect(executionDetail.safeParse(detail).success).toBe(true);
    expect(detail.tasks).toMatchObject([
      { taskRef: 'bill', status: 'IN_PROGRESS', workerId: 'w1', leaseExpiresAt: NOON_TEXT, progress: { done: 0.5 } },
    ]);
    expect(detail.waitingFor).toMatchObject([{ taskRef: 'bill', why: 'leased by w1' }]);
  });

  test('of the past shows what history says', () => {
    expect(stateOf(VIEW).tasks).toMatchObject([{ taskRef: 'bill', status: 'SCHEDULED' }]);
  });

  test('does not lay a lease over an attempt that has ended', () => {
    const [task] = VIEW.tasks;
    if (task === undefined) throw new Error('the sample has a task');
    const view = { ...VIEW, tasks: [{ ...task, status: 'COMPLETED', endedAt: NOON } as const] };
    expect(detailOf({ ...DETAIL, view }).tasks).toMatchObject([{ status: 'COMPLETED' }]);
  });
});
