import { describe, expect, it } from 'vitest';
import { type Step, simple } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const dynamic = (fields: Step = {}): Step => ({
  ...simple('d', { inputParameters: { which: '${workflow.input.which}', amount: 1 }, ...fields }),
  type: 'DYNAMIC',
  dynamicTaskNameParam: 'which',
});

describe('DYNAMIC', () => {
  it('is queued under the name that its input gives, with the settings of that task', () => {
    const run = new Run(
      {
        tasks: [dynamic()],
        taskDefinitions: [
          { name: 'ship', jitter: 0, retryCount: 1, retryDelaySeconds: 7, inputTemplate: { amount: 2, by: 'air' } },
        ],
      },
      { input: { which: 'ship' } },
    );
    expect(run.task('d')).toMatchObject({ queue: 'ship', taskName: 'ship', taskType: 'DYNAMIC' });
    expect(run.task('d').input).toEqual({ which: 'ship', amount: 1, by: 'air' });
    run.fail('d');
    expect(run.task('d').visibleAt - run.now).toBe(7_000);
    run.fail('d');
    expect(run.status).toBe('FAILED');
  });

  it('has the defaults of the door when there is no such task, and its own overrides in any case', () => {
    const run = new Run({ tasks: [dynamic({ retryCount: 0 })] }, { input: { which: 'unknown' } });
    expect(run.task('d').heartbeatMs).toBe(60_000);
    expect(run.fail('d').status).toBe('FAILED');
  });

  it.each([null, '', 7, {}])('is refused when its input names no task but %j', (which) => {
    const run = new Run({ tasks: [dynamic()] }, { input: { which } });
    expect([run.status, run.seen('d').reason]).toEqual([
      'FAILED',
      `Input which must name a task; it is ${JSON.stringify(which)}.`,
    ]);
  });
});
