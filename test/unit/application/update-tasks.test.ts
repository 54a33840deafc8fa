import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PolledTask } from '../../../src/application/unfenced/run-facts.ts';
import type { TaskUpdate } from '../../../src/application/unfenced/task-update.ts';
import type { ExecutionId, Namespace, TaskId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { human, simple } from '../../support/builders.ts';
import { type MemoryServer, openMemoryServer } from '../../support/memory-server.ts';

const NS = 'default' as Namespace;
const BY = 'somebody';

let server: MemoryServer;

beforeEach(async () => {
  server = await openMemoryServer();
});
afterEach(() => server.close());

const accepted = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`);
  return result.value;
};

const register = async (tasks: readonly JsonObject[]): Promise<void> => {
  accepted(
    await server.useCases.definitions.registerWorkflow(NS, { name: 'flow', version: 1, tasks }, 'conductor', true),
  );
};

const started = async (...tasks: readonly JsonObject[]): Promise<ExecutionId> => {
  await register(tasks);
  const request = { name: 'flow', input: {}, priority: 0, idempotencyStrategy: 'FAIL' } as const;
  const run = accepted(await server.useCases.executions.start(NS, request));
  await server.settle();
  return run.executionId;
};

const poll = async (workerId: string, queue = 'work', count = 1): Promise<readonly PolledTask[]> => {
  const { signal } = new AbortController();
  return accepted(
    await server.useCases.tasks.poll({ namespace: NS, queues: [queue], workerId, count, waitMs: 0, signal }),
  );
};

const pollOne = async (workerId: string, queue = 'work'): Promise<TaskId> => {
  const [polled] = await poll(workerId, queue);
  if (polled === undefined) throw new Error('nothing to poll');
  return polled.task.taskId;
};

const updateOf = (taskId: TaskId, more: Partial<TaskUpdate> = {}): TaskUpdate => ({
  taskId,
  status: 'COMPLETED',
  output: {},
  afterSeconds: 0,
  extendsLease: false,
  logs: [],
  ...more,
});

const update = async (taskId: TaskId, more: Partial<TaskUpdate> = {}): Promise<string> => {
  const answer = await server.useCases.tasks.update(NS, updateOf(taskId, more), BY);
  await server.settle();
  return answer.ok ? answer.value.kind : answer.error.code;
};

const statusOf = async (id: ExecutionId): Promise<string> =>
  accepted(await server.useCases.executions.status(NS, id)).status;
const tasksOf = async (id: ExecutionId) => accepted(await server.useCases.executions.get(NS, id)).view.tasks;

describe('an update by the id of the attempt and the name of the worker', () => {
  it('ends the attempt of its holder', async () => {
    const run = await started(simple('work'));
    const taskId = await pollOne('a');
    expect(await update(taskId, { workerId: 'a', output: { x: 1 } })).toBe('done');
    expect(await statusOf(run)).toBe('COMPLETED');
    expect((await tasksOf(run))[0]).toMatchObject({ status: 'COMPLETED', output: { x: 1 }, workerId: 'a' });
  });

  it('is ignored when another worker holds the attempt, and the holder ends it', async () => {
    const run = await started(simple('work'));
    const taskId = await pollOne('a');
    expect(await update(taskId, { workerId: 'b', output: { by: 'b' } })).toBe('ignored');
    expect(await statusOf(run)).toBe('RUNNING');
    expect(await update(taskId, { workerId: 'a', output: { by: 'a' } })).toBe('done');
    expect((await tasksOf(run))[0]?.output).toEqual({ by: 'a' });
  });

  it('cannot end an attempt that was given back and taken by another worker since', async () => {
    const run = await started(simple('work'));
    const taskId = await pollOne('a');
    expect(await update(taskId, { workerId: 'a', status: 'IN_PROGRESS', afterSeconds: 5 })).toBe('done');
    await server.later(5_001);
    expect(await pollOne('b')).toBe(taskId);
    expect(await update(taskId, { workerId: 'a', output: { by: 'a' } })).toBe('ignored');
    expect(await update(taskId, { workerId: 'a', status: 'IN_PROGRESS', extendsLease: true })).toBe('ignored');
    expect(await update(taskId, { workerId: 'a', status: 'IN_PROGRESS' })).toBe('ignored');
    expect(await statusOf(run)).toBe('RUNNING');
    expect(await update(taskId, { workerId: 'b', output: { by: 'b' } })).toBe('done');
    expect((await tasksOf(run))[0]?.output).toEqual({ by: 'b' });
  });

  it('of an attempt that timed out touches nothing of the next one', async () => {
    accepted(
      await server.useCases.definitions.registerTask(
        NS,
        { name: 'work', responseTimeoutSeconds: 10, retryDelaySeconds: 0, retryCount: 1 },
        'conductor',
      ),
    );
    const run = await started(simple('work'));
    const first = await pollOne('a');
    await server.later(10_001);
    await server.runLoopOnce('deadlines');
    await server.settle();
    const second = await pollOne('a');
    expect(second).not.toBe(first);
    expect(await update(first, { workerId: 'a', output: { late: true } })).toBe('ignored');
    expect(await statusOf(run)).toBe('RUNNING');
    expect(await update(second, { workerId: 'a', output: { late: false } })).toBe('done');
    expect((await tasksOf(run)).map(({ status, output }) => [status, output])).toEqual([
      ['TIMED_OUT', {}],
      ['COMPLETED', { late: false }],
    ]);
  });

  it('of a task that has ended changes nothing, however often it comes', async () => {
    const run = await started(simple('work'), simple('next'));
    const taskId = await pollOne('a');
    await update(taskId, { workerId: 'a', output: { n: 1 } });
    expect(await update(taskId, { workerId: 'a', output: { n: 2 } })).toBe('ignored');
    expect(await update(taskId, { status: 'FAILED' })).toBe('ignored');
    expect((await tasksOf(run))[0]?.output).toEqual({ n: 1 });
  });

  it('of a task that never was is refused', async () => {
    const run = await started(simple('work'));
    expect(await update(`${run}.99` as TaskId)).toBe('NOT_FOUND');
    expect(await update(`${run}.1` as TaskId)).toBe('NOT_FOUND');
    expect(await update('nonsense' as TaskId)).toBe('NOT_FOUND');
  });

  it('of another namespace is refused', async () => {
    await started(simple('work'));
    const taskId = await pollOne('a');
    const answer = await server.useCases.tasks.update('other' as Namespace, updateOf(taskId, { workerId: 'a' }), BY);
    expect(answer).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
  });

  it('without a name is from nobody that could have lost the lease: it ends what is held, and what is not', async () => {
    const held = await started(simple('work'));
    expect(await update(await pollOne('a'))).toBe('done');
    expect(await statusOf(held)).toBe('COMPLETED');
    const free = await started(simple('work'));
    const [task] = await tasksOf(free);
    expect(await update(task?.taskId as TaskId, { output: { direct: true } })).toBe('done');
    expect(await statusOf(free)).toBe('COMPLETED');
  });

  it('ends a task that waits for a person, and keeps what is said of it before', async () => {
    const run = await started(human('ask'));
    const [task] = await tasksOf(run);
    const taskId = task?.taskId as TaskId;
    expect(await update(taskId, { status: 'IN_PROGRESS', output: { seen: true } })).toBe('done');
    expect(accepted(await server.useCases.executions.get(NS, run)).live[0]?.progress).toEqual({ seen: true });
    expect(await update(taskId, { status: 'COMPLETED', output: { yes: 1 } })).toBe('done');
    expect(await statusOf(run)).toBe('COMPLETED');
  });

  it('that gives the task up ends the run', async () => {
    const run = await started(simple('work'));
    expect(await update(await pollOne('a'), { workerId: 'a', status: 'CANCELED', reason: 'no more' })).toBe('done');
    expect(await statusOf(run)).toBe('TERMINATED');
    expect((await tasksOf(run))[0]?.status).toBe('CANCELED');
  });

  it('that only extends the lease keeps the attempt with its holder beyond its time', async () => {
    accepted(
      await server.useCases.definitions.registerTask(NS, { name: 'work', responseTimeoutSeconds: 10 }, 'conductor'),
    );
    const run = await started(simple('work'));
    const taskId = await pollOne('a');
    await server.later(8_000);
    expect(await update(taskId, { workerId: 'a', status: 'IN_PROGRESS', extendsLease: true })).toBe('done');
    expect(await poll('b')).toEqual([]);
    await server.later(8_000);
    expect(await update(taskId, { workerId: 'a' })).toBe('done');
    expect(await statusOf(run)).toBe('COMPLETED');
  });

  it('appends its lines, and those of a stranger to nothing', async () => {
    await started(simple('work'));
    const taskId = await pollOne('a');
    await update(taskId, { workerId: 'b', logs: ['stranger'] });
    await update(taskId, { workerId: 'a', logs: ['one', 'two'] });
    accepted(await server.useCases.tasks.appendLogs(NS, taskId, ['after']));
    const lines = accepted(await server.useCases.workers.logs(NS, taskId, 10)).items.map(({ line }) => line);
    expect(lines).toEqual(['one', 'two', 'after']);
  });
});

describe('a task that is put off', () => {
  it('comes again after its time, to any worker, with what was left and its count of polls', async () => {
    const run = await started(simple('work'));
    const taskId = await pollOne('a');
    await update(taskId, { workerId: 'a', status: 'IN_PROGRESS', afterSeconds: 30, output: { page: 1 } });
    expect(await poll('a')).toEqual([]);
    expect((await tasksOf(run))[0]).toMatchObject({ status: 'SCHEDULED' });
    await server.later(30_001);
    const [again] = await poll('b');
    expect(again?.task).toMatchObject({ taskId, attempt: 1, callbacks: 1, callbackSeconds: 30, progress: { page: 1 } });
  });

  it('does not time out for want of a sign of life while nobody has it', async () => {
    accepted(
      await server.useCases.definitions.registerTask(NS, { name: 'work', responseTimeoutSeconds: 10 }, 'conductor'),
    );
    const run = await started(simple('work'));
    const taskId = await pollOne('a');
    await update(taskId, { workerId: 'a', status: 'IN_PROGRESS', afterSeconds: 3_600 });
    await server.later(60_000);
    expect(await update(taskId, { output: { fromOutside: true } })).toBe('done');
    expect(await statusOf(run)).toBe('COMPLETED');
  });
});

describe('the next task', () => {
  const next = async (taskId: TaskId, workerId = 'a', more: Partial<TaskUpdate> = {}) => {
    const { signal } = new AbortController();
    const answer = await server.useCases.tasks.updateAndTakeNext(
      NS,
      updateOf(taskId, { workerId, ...more }),
      BY,
      signal,
    );
    return accepted(answer);
  };

  it('of the same queue comes with the update that ends one', async () => {
    await started(simple('work'));
    const second = await started(simple('work'));
    const taken = await next(await pollOne('a'));
    expect(taken?.task).toMatchObject({ executionId: second, workerId: 'a' });
    expect(taken?.run).toMatchObject({ name: 'flow', version: 1 });
  });

  it('may be the successor in the same run, leased on the way', async () => {
    const run = await started(simple('work'), simple('work2', { name: 'work' }));
    const taken = await next(await pollOne('a'));
    expect(taken?.task).toMatchObject({ executionId: run, ref: 'work2' });
    expect(await next(taken?.task.taskId as TaskId)).toBeUndefined();
    expect(await statusOf(run)).toBe('COMPLETED');
  });

  it('is not taken by who only puts one off, who is ignored, or who gives no name', async () => {
    await started(simple('work'));
    await started(simple('work'));
    const taskId = await pollOne('a');
    expect(await next(taskId, 'b')).toBeUndefined();
    expect(await next(taskId, 'a', { status: 'IN_PROGRESS', afterSeconds: 9 })).toBeUndefined();
    expect(await poll('c')).toHaveLength(1);
  });

  it('is given back when its worker has gone', async () => {
    await started(simple('work'));
    await started(simple('work'));
    const taskId = await pollOne('a');
    const gone = new AbortController();
    gone.abort();
    const answer = await server.useCases.tasks.updateAndTakeNext(
      NS,
      updateOf(taskId, { workerId: 'a' }),
      BY,
      gone.signal,
    );
    expect(accepted(answer)).toBeUndefined();
    expect(await poll('b')).toHaveLength(1);
  });

  it('goes to each of many that end theirs at once, and to none twice', async () => {
    for (let count = 0; count < 12; count += 1) await started(simple('work'));
    const held = (await poll('a', 'work', 6)).map(({ task }) => task.taskId);
    const taken = await Promise.all(held.map((taskId) => next(taskId)));
    const ids = taken.map((one) => one?.task.taskId);
    expect(new Set(ids).size).toBe(6);
    expect(ids).not.toContain(undefined);
  });
});
