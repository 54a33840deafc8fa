import { describe, expect, it } from 'vitest';
import { fork, join, loop, simple, switchOn } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

describe('a sequence of tasks', () => {
  it('runs one after the other and gives the output of the last', () => {
    const run = new Run({ tasks: [simple('a'), simple('b')] });
    expect(run.open()).toEqual(['a']);
    run.complete('a', { n: 1 });
    expect(run.open()).toEqual(['b']);
    run.complete('b', { n: 2 });
    expect(run.status).toBe('COMPLETED');
    expect(run.output).toEqual({ n: 2 });
  });

  it('runs loops in branches', () => {
    const run = new Run({
      tasks: [
        fork('f', [
          [loop('l', 3, [simple('x'), simple('y')])],
          [simple('p'), switchOn('s', 'a', { a: [simple('q')] })],
        ]),
        join('j'),
      ],
    });
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });
});
