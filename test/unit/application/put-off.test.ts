import { describe, expect, it } from 'vitest';
import { simple } from '../../support/builders.ts';
import { memoryEngine } from '../../support/memory-engine.ts';

describe('an attempt that its worker put off', () => {
  it('shows in expressions how often it was polled and how long it asked for last', async () => {
    const given = memoryEngine();
    const inputParameters = {
      polls: '${first.pollCount}',
      after: '${first.callbackAfterSeconds}',
      plain: '${plain.pollCount}',
      none: '${plain.callbackAfterSeconds}',
    };
    await given.register({ name: 'w', tasks: [simple('first'), simple('plain'), simple('last', { inputParameters })] });
    await given.start('w');
    for (const afterSeconds of [30, 7]) {
      const held = await given.lease('first');
      if (held === undefined) throw new Error('nothing to lease');
      const { taskId, leaseToken } = held;
      await given.engine.transaction((tx) =>
        tx.putOffTask(given.namespace, { taskId, leaseToken, afterSeconds, progress: {} }),
      );
      given.advance(afterSeconds * 1_000);
    }
    for (const queue of ['first', 'plain']) {
      const task = await given.lease(queue);
      if (task === undefined) throw new Error('nothing to lease');
      await given.report(task, {});
    }
    expect((await given.lease('last'))?.input).toEqual({ polls: 3, after: 7, plain: 1, none: 0 });
  });
});
