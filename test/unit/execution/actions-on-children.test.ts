import { describe, expect, it } from 'vitest';
import { fork, join, loop, type Step, simple } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const child = (ref: string): Step => ({
  name: ref,
  taskReferenceName: ref,
  type: 'SUB_WORKFLOW',
  subWorkflowParam: { name: 'below' },
});

const messagesOf = (run: Run, topic: string) =>
  run.published.flatMap((command) => (command.type === 'PublishMessage' && command.topic === topic ? [command] : []));

/** The run that an attempt waits for. */
const childOf = (run: Run, ref: string): unknown => run.seen(ref).subWorkflowId;

describe('actions on a run with children', () => {
  it('that take an open child away end it: a cancellation, a skip, a jump, a rerun with cascade', () => {
    const actions: readonly ((run: Run) => unknown)[] = [
      (run) => run.cancelTask('c'),
      (run) => run.skip('c'),
      (run) => run.jump('z'),
      (run) => run.pause().rerunTasks(['a'], true),
    ];
    for (const act of actions) {
      const run = new Run({ tasks: [simple('a'), child('c'), simple('z')] });
      run.complete('a');
      const id = childOf(run, 'c');
      act(run);
      expect(messagesOf(run, 'terminate-child').map(({ payload }) => payload.executionId)).toEqual([id]);
    }
  });

  it('start another child where one runs again, inside of a branch and a loop', () => {
    const run = new Run({
      tasks: [fork('f', [[loop('l', 2, [child('c'), simple('d')])], [simple('b')]]), join('j')],
    });
    run.complete('c__1').complete('d__1').complete('c__2').complete('d__2').complete('b');
    const first = childOf(run, 'c__2');
    run.rerun('c__2');
    expect([run.open(), run.task('c__2').attempt]).toEqual([['c__2'], 2]);
    const second = childOf(run, 'c__2');
    expect(second).not.toBe(first);
    run.complete('c__2').complete('d__2').rerun('c__1');
    expect([run.open(), run.task('c__1').attempt]).toEqual([['c__1'], 3]);
    expect([first, second]).not.toContain(childOf(run, 'c__1'));
    run.completeAll();
    expect(run.status).toBe('COMPLETED');
  });

  it('refuse what the child of before tells once its attempt is gone', () => {
    const run = new Run({ tasks: [child('c'), simple('z')] });
    const late = run.outcomeOf('c', 'COMPLETED', { output: { subWorkflowId: childOf(run, 'c') as string } });
    run.terminate().rerun('c');
    expect(run.request({ type: 'SettleTask', outcome: late })?.code).toBe('LEASE_LOST');
    run.complete('c').complete('z');
    expect(run.status).toBe('COMPLETED');
  });
});
