import { describe, expect, it } from 'vitest';
import { human } from '../../support/builders.ts';
import { NAMESPACE } from '../../support/engine.ts';
import { startRun, statusOf } from '../../support/runs.ts';
import { register, taskOf, useMemoryServer } from '../children/given.ts';

describe('a run that has ended under a limit on runs', () => {
  const open = useMemoryServer();

  it('takes no place again when the answer that ended it is given again', async () => {
    const server = open();
    await register(server, 'asks', [human('ask')], { maxConcurrentExecutions: 1 });
    const first = await startRun(server, 'asks');
    await server.settle();
    const { taskId } = await taskOf(server, first, 'ask');
    const answer = () =>
      server.useCases.doors.completeTask(NAMESPACE, taskId, { status: 'COMPLETED', output: { yes: true } }, 'alice');
    expect((await answer()).ok).toBe(true);
    expect(await statusOf(server, first)).toBe('COMPLETED');
    expect((await answer()).ok).toBe(true);
    const second = await startRun(server, 'asks');
    // While another run has the place, too.
    expect((await answer()).ok).toBe(true);
    expect([await statusOf(server, first), await statusOf(server, second)]).toEqual(['COMPLETED', 'RUNNING']);
  });
});
