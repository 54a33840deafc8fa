import { describe, expect, it } from 'vitest';
import { SYSTEM_LEASES_LOST_MAX } from '../../../src/domain/execution/outcome.ts';
import { type Step, simple } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const system = (type: string, ref: string, inputParameters: Step, fields: Step = {}): Step => ({
  ...simple(ref, { inputParameters, ...fields }),
  type,
});

describe('system tasks', () => {
  it.each(['INLINE', 'JSON_JQ_TRANSFORM'])('%s is queued for the server itself with its resolved input', (type) => {
    const run = new Run(
      { tasks: [system(type, 's', { expression: '1', queryExpression: '.', n: '${workflow.input.n}' })] },
      { input: { n: 3 } },
    );
    expect(run.task('s')).toMatchObject({ family: 'system', queue: '$system' });
    expect(run.task('s').input).toMatchObject({ n: 3 });
    run.complete('s', { result: 1 });
    expect(run.output).toEqual({ result: 1 });
  });

  it('LAMBDA finds its script among its inputs, wherever it was written', () => {
    const script = 'return 1';
    const beside = new Run({ tasks: [system('LAMBDA', 's', {}, { scriptExpression: script })] });
    const inside = new Run({ tasks: [system('LAMBDA', 's', { scriptExpression: script })] });
    expect(beside.task('s').input).toEqual({ scriptExpression: script });
    expect(inside.task('s').input).toEqual({ scriptExpression: script });
  });

  it('is not retried unless asked', () => {
    const run = new Run({ tasks: [system('INLINE', 's', { expression: 'x' })] });
    expect(run.fail('s', 'x is not defined').status).toBe('FAILED');
    const asked = new Run({ tasks: [system('INLINE', 's', { expression: 'x' }, { retryCount: 1 })] });
    expect(asked.fail('s').task('s').attempt).toBe(2);
  });

  it('is run again, at once, when the process that ran it is gone, though it has no retries', () => {
    const run = new Run({ tasks: [system('INLINE', 's', { expression: '1' })] });
    for (let lost = 1; lost <= SYSTEM_LEASES_LOST_MAX; lost += 1) {
      run.timeOut('s', 'HEARTBEAT');
      expect([run.status, run.task('s').attempt]).toEqual(['RUNNING', lost + 1]);
    }
    expect(run.timeOut('s', 'HEARTBEAT').status).toBe('TIMED_OUT');
  });

  it('fails when it is reached where this version does not execute its type', () => {
    const run = new Run({ tasks: [simple('a'), system('GRPC', 'h', {})], door: 'conductor' });
    run.complete('a');
    expect([run.status, run.seen('h').reason]).toEqual([
      'FAILED',
      'Tasks of type GRPC are not executed by this version of Rondo.',
    ]);
    run.retry();
    expect([run.status, run.seen('h').attempt]).toEqual(['FAILED', 2]);
  });
});
