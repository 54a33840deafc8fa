import { describe, expect, it } from 'vitest';
import { PAYLOAD_BYTES_MAX } from '../../../src/domain/execution/payload-limit.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';
import { fork, join, loop, setVariable, simple } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const half = 'x'.repeat(PAYLOAD_BYTES_MAX / 2);
const TOO_LARGE = `larger than ${PAYLOAD_BYTES_MAX} bytes as JSON`;
const UNCHECKED = { checks: false };

const nested = (depth: number): JsonValue => {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
};

describe('payloads beyond the limits refuse the task instead of growing without bound', () => {
  it('as inputs', () => {
    const inputParameters = { a: '${workflow.input.half}', b: '${workflow.input.half}' };
    const run = new Run({ tasks: [simple('s', { inputParameters })] }, { input: { half }, ...UNCHECKED });
    expect([run.status, run.seen('s').reason]).toEqual([
      'FAILED',
      `inputParameters: the evaluated value is ${TOO_LARGE}.`,
    ]);
  });

  it('as inputs nested too deep', () => {
    const run = new Run(
      { tasks: [simple('s', { inputParameters: { a: ['${workflow.input.deep}'] } })] },
      { input: { deep: nested(99) } },
    );
    expect(run.seen('s').reason).toBe('inputParameters: the evaluated value is nested deeper than 100.');
    const fits = new Run(
      { tasks: [simple('s', { inputParameters: { a: '${workflow.input.deep}' } })] },
      { input: { deep: nested(99) } },
    );
    expect(fits.open()).toEqual(['s']);
  });

  it('as inputs with their template', () => {
    const run = new Run(
      {
        tasks: [simple('s', { inputParameters: { a: '${workflow.input.half}' } })],
        taskDefinitions: [{ name: 's', inputTemplate: { b: '${workflow.input.half}' } }],
      },
      { input: { half }, ...UNCHECKED },
    );
    expect(run.seen('s').reason).toBe(`The input with its inputTemplate is ${TOO_LARGE}.`);
  });

  it('as joined outputs', () => {
    const run = new Run({ tasks: [fork('f', [[simple('a')], [simple('b')]]), join('j')] }, UNCHECKED);
    run.complete('a', { half }).complete('b', { half });
    expect([run.status, run.seen('j').reason]).toEqual(['FAILED', `The joined output is ${TOO_LARGE}.`]);
  });

  it('as outputs of a loop, after the iteration that was too much', () => {
    const run = new Run({ tasks: [loop('l', 9, [simple('a')])] }, UNCHECKED);
    run.complete('a__1', { half }).complete('a__2', { half });
    expect(run.open()).toEqual(['a__3']);
    run.complete('a__3');
    expect([run.status, run.seen('l').output]).toEqual(['FAILED', { iteration: 3 }]);
    expect(run.reason).toContain(`The output of the loop is ${TOO_LARGE}.`);
    const last = new Run({ tasks: [loop('l', 2, [simple('a')])] }, UNCHECKED)
      .complete('a__1', { half })
      .complete('a__2', { half });
    expect(last.reason).toContain(`The output of the loop is ${TOO_LARGE}.`);
    const kept = new Run({ tasks: [loop('l', 5, [simple('a')], { keepLastN: 1 })] }, UNCHECKED);
    kept.completeAll(() => ({ half }));
    expect(kept.status).toBe('COMPLETED');
  });

  it('as the output of a run', () => {
    const fields = { outputParameters: { a: '${workflow.input.half}', b: '${workflow.input.half}' } };
    const run = new Run({ tasks: [simple('s')], fields }, { input: { half }, ...UNCHECKED }).complete('s');
    expect([run.status, run.reason]).toEqual(['FAILED', `The output of the execution is ${TOO_LARGE}.`]);
  });

  it('as variables that hold what a task gave', () => {
    const run = new Run({ tasks: [simple('s'), setVariable('v', { all: '${s.output}' })] }, UNCHECKED).complete('s', {
      half,
    });
    expect([run.status, run.view.failedTask]).toEqual(['FAILED', 'v']);
  });
});
