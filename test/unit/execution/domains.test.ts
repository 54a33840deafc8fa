import { describe, expect, it } from 'vitest';
import { dynamicFork, join, simple, wait } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const queueOf = (taskToDomain: Readonly<Record<string, string>>, polled: readonly string[], fields = {}): string => {
  const run = new Run({ tasks: [simple('a', fields)] }, { started: { taskToDomain }, polled });
  return run.task('a').queue;
};

describe('several domains', () => {
  it('give a task to the first that workers polled of late, else to the last', () => {
    expect(queueOf({ a: 'd1,d2,d3' }, ['d2:a', 'd3:a'])).toBe('d2:a');
    expect(queueOf({ a: 'd1, d2 ,d3' }, [])).toBe('d3:a');
    expect(queueOf({ a: 'd1,d2' }, ['d1:a', 'd2:a'])).toBe('d1:a');
  });

  it('end with the queue of no domain where NO_DOMAIN says so', () => {
    expect(queueOf({ a: 'd1,NO_DOMAIN' }, [])).toBe('a');
    expect(queueOf({ a: 'd1,NO_DOMAIN' }, ['d1:a'])).toBe('d1:a');
    expect(queueOf({ a: 'd1,NO_DOMAIN,d2' }, ['d2:a'])).toBe('a');
  });

  it('may be named for all tasks of workers, or by the definition', () => {
    expect(queueOf({ '*': 'd1,d2' }, ['d1:a'])).toBe('d1:a');
    expect(queueOf({ '*': 'd1,d2', a: 'd3' }, ['d1:a'])).toBe('d3:a');
    expect(queueOf({}, [], { domain: 'd4' })).toBe('d4:a');
    const run = new Run({ tasks: [wait('w')] }, { started: { taskToDomain: { '*': 'd1,d2' } } });
    expect(run.task('w').queue).not.toContain('d1');
  });

  it('are asked about only where there are several', () => {
    const asked = (domains: string) => [
      ...new Run({ tasks: [simple('a')] }, { started: { taskToDomain: { a: domains } } }).asked,
    ];
    expect([asked('d1'), asked('NO_DOMAIN'), asked('d1,d2')]).toEqual([[], [], ['d1:a']]);
  });

  it('choose anew for each attempt, and hold for tasks that data brings', () => {
    const polled: string[] = [];
    const tasks = [dynamicFork('f', [{ name: 'a', taskReferenceName: 'x', retryDelaySeconds: 1 }]), join('j')];
    const run = new Run({ tasks }, { started: { taskToDomain: { a: 'd1,NO_DOMAIN' } }, polled });
    expect(run.task('x').queue).toBe('a');
    polled.push('d1:a');
    run.fail('x');
    expect(run.task('x').queue).toBe('d1:a');
    expect(run.eventsOf('TaskScheduled').map(({ queue }) => queue)).toEqual(['a', 'd1:a']);
  });
});
