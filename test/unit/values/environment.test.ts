import { describe, expect, it } from 'vitest';
import { environmentNamesIn } from '../../../src/domain/definition/environment-names.ts';
import { replayLog } from '../../../src/domain/execution/replay.ts';
import { emptyState } from '../../../src/domain/execution/state.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { dynamicFork, join, loop, noop, simple, switchOn, wait } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const reads = (run: Run) => run.log.flatMap(({ event }) => (event.type === 'EnvironmentRead' ? [event.values] : []));
const inputOf = (run: Run, ref: string) => run.task(ref).input as JsonObject;

describe('the names that a document reads', () => {
  it('are found wherever they stand', () => {
    expect(
      environmentNamesIn({ a: ['${env.x}', { b: 'x ${workflow.env.y} ${global.z.deep}' }], c: '$${env.no}' }),
    ).toEqual(['x', 'y', 'z']);
    expect(environmentNamesIn(['${workflow.input.env}', 'env', '${env.x'])).toEqual([]);
  });

  it('are all of them where the whole is read, or which one is chosen at run time', () => {
    expect(environmentNamesIn(['${env.x}', '${workflow.env}'])).toEqual(['*']);
    expect(environmentNamesIn(['${env.${workflow.input.which}}'])).toEqual(['*']);
  });
});

describe('environment values', () => {
  it('are read when a task is scheduled, by any of their names, and are a fact', () => {
    const options = { environment: { REGION: 'north', OTHER: 'x' } as Record<string, string> };
    const inputParameters = {
      a: '${workflow.env.REGION}',
      b: 'in ${env.REGION}',
      c: '${global.REGION}',
      d: '${env.NONE}',
    };
    const run = new Run({ tasks: [simple('t', { inputParameters })] }, options);
    expect(inputOf(run, 't')).toEqual({ a: 'north', b: 'in north', c: 'north', d: null });
    expect(reads(run)).toEqual([{ REGION: 'north' }]);
  });

  it('are another for the task that is scheduled after they changed, and only what changed is told', () => {
    const options = { environment: { A: '1', B: '1' } as Record<string, string> };
    const inputParameters = { a: '${env.A}', b: '${env.B}' };
    const run = new Run({ tasks: ['x', 'y', 'z'].map((ref) => simple(ref, { inputParameters })) }, options);
    options.environment = { A: '2', B: '1' };
    expect(inputOf(run, 'x')).toEqual({ a: '1', b: '1' });
    run.complete('x');
    expect(inputOf(run, 'y')).toEqual({ a: '2', b: '1' });
    options.environment = { A: '2' };
    run.complete('y');
    expect(inputOf(run, 'z')).toEqual({ a: '2', b: null });
    expect(reads(run)).toEqual([{ A: '1', B: '1' }, { A: '2' }, { B: null }]);
  });

  it('are never asked for by a run that reads none', () => {
    const run = new Run(
      { tasks: [simple('t'), noop('n')] },
      {
        get environment(): never {
          throw new Error('asked');
        },
      },
    );
    run.complete('t');
    expect(run.status).toBe('COMPLETED');
  });

  it('steer switches and loops, and stand in the output', () => {
    const options = { environment: { WAY: 'left', TIMES: '2' } };
    const run = new Run(
      {
        tasks: [
          switchOn('s', '${env.WAY}', { left: [simple('l')], right: [simple('r')] }),
          { ...loop('d', 1, [simple('b')]), loopCondition: '${d.output.iteration} < ${env.TIMES}' },
        ],
        fields: { outputParameters: { all: '${workflow.env}' } },
      },
      options,
    );
    run.complete('l').complete('b__1').complete('b__2');
    expect([run.status, run.output]).toEqual(['COMPLETED', { all: { WAY: 'left', TIMES: '2' } }]);
  });

  it('are read by steps that data brings', () => {
    const branch = simple('x1', { inputParameters: { a: '${env.A}' } });
    const run = new Run(
      { tasks: [{ ...dynamicFork('f', [branch]) }, join('j')] },
      { environment: { A: '1' }, input: { tasks: [branch], inputs: {} } },
    );
    expect(inputOf(run, 'x1')).toMatchObject({ a: '1' });
  });

  it('are nothing that a pass tells where nothing is due', () => {
    const options = { environment: { A: '1' } as Record<string, string> };
    const run = new Run({ tasks: [wait('w'), simple('t', { inputParameters: { a: '${env.A}' } })] }, options);
    const before = run.log.length;
    options.environment = { A: '2' };
    run.requestAll([]);
    expect(run.log).toHaveLength(before);
  });

  it('are taken from the record by a replay', () => {
    const options = { environment: { A: '1' } as Record<string, string> };
    const run = new Run({ tasks: [simple('x'), simple('y', { inputParameters: { a: '${env.A}' } })] }, options);
    options.environment = { A: '2' };
    run.complete('x');
    options.environment = { A: '3' };
    run.complete('y');
    const replayed = replayLog(emptyState(run.state.executionId, run.state.plan), run.log, run.environment);
    expect(replayed).toEqual({ kind: 'same' });
  });
});
