import { describe, expect, it } from 'vitest';
import {
  FAILED_PAYLOAD_BYTES_MAX,
  FAILED_WORKFLOW_BYTES_MAX,
  failedWorkflowOf,
} from '../../../src/application/failed-workflow.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { jsonBytes } from '../../../src/domain/kernel/json-depth.ts';
import { loop, simple } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const accountOf = (run: Run) =>
  failedWorkflowOf(run.state.executionId, run.log) as JsonObject & { tasks: readonly JsonObject[] };

describe('the account of a failed run', () => {
  it("tells it in the fields of Conductor's model, with every attempt", () => {
    const run = new Run({ tasks: [simple('a'), simple('b', { retryCount: 1 })] }, { input: { order: 7 } });
    run.complete('a', { n: 1 }).fail('b', 'once').fail('b', 'twice');
    expect(accountOf(run)).toMatchObject({
      workflowId: run.state.executionId,
      workflowName: 'flow',
      version: 1,
      status: 'FAILED',
      reasonForIncompletion: run.reason,
      input: { order: 7 },
      failedReferenceTaskNames: ['b'],
      failedTaskNames: ['b'],
      tasksLeftOut: 0,
      tasks: [
        { referenceTaskName: 'a', status: 'COMPLETED', outputData: { n: 1 }, retryCount: 0, retried: false },
        { referenceTaskName: 'b', status: 'FAILED', reasonForIncompletion: 'once', retried: true },
        { referenceTaskName: 'b', status: 'FAILED', reasonForIncompletion: 'twice', retryCount: 1 },
      ],
    });
  });

  it('leaves out payloads that are too large, and says which', () => {
    const large = { text: 'x'.repeat(FAILED_PAYLOAD_BYTES_MAX) };
    const run = new Run({ tasks: [simple('a'), simple('b')] }, { input: large });
    run.complete('a', large).failForGood('b');
    const account = accountOf(run);
    expect([account.input, account.truncated]).toEqual([{}, ['input']]);
    expect(account.tasks[0]).toMatchObject({ outputData: {}, truncated: ['outputData'] });
  });

  it('keeps the tasks that ran last and counts the others, so that it is never larger than its bound', () => {
    const run = new Run({ tasks: [loop('l', 50, [simple('a')], { keepLastN: 1 }), simple('b')] }, { checks: false });
    for (let n = 1; n <= 50; n += 1) run.complete(`a__${n}`, { text: 'x'.repeat(60_000) });
    run.failForGood('b');
    const account = accountOf(run);
    expect(account.tasks.at(-1)).toMatchObject({ referenceTaskName: 'b' });
    expect(account.tasks.length).toBeGreaterThan(10);
    expect(account.tasksLeftOut).toBe(52 - account.tasks.length);
    expect(jsonBytes(account)).toBeLessThan(FAILED_WORKFLOW_BYTES_MAX + 1_000);
  });
});
