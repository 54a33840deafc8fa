import type { ExecutionId, Instant, LeaseToken, TaskId } from '../../../src/domain/kernel/brand.ts';
import type { EngineTx } from '../../../src/ports/engine-store.ts';
import { ALPHA, closeOf, messageOf, newTask, owed, pausedEvent, timerOf } from '../../contract/given.ts';
import type { Chance } from '../../support/chance.ts';

/** What one sequence works on, with ids that count: both stores are told the very same things. */
export type Scene = Readonly<{
  /** A queue of its own: a server remembers for a while how those stood that it saw before. */
  queue: string;
  runs: readonly ExecutionId[];
  tokens: LeaseToken[];
  taskIds: TaskId[];
  waitingIds: TaskId[];
  messageIds: string[];
  seqs: Map<ExecutionId, number>;
}>;

export const newScene = (queue: string, runs: readonly ExecutionId[]): Scene => ({
  queue,
  runs,
  tokens: [],
  taskIds: [],
  waitingIds: [],
  messageIds: [],
  seqs: new Map(),
});

export type Call = (tx: EngineTx, scene: Scene, chance: Chance, now: Instant) => Promise<unknown>;

/** Instants differ from store to store; whether there is one does not. */
export const plain = (value: unknown): unknown => {
  if (value instanceof Map) return [...value].map(plain);
  if (value instanceof Set) return [...value].map(plain).sort();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null)
    return typeof value === 'number' && value > 1e12 ? 'an instant' : value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
};

const nextSeq = ({ seqs }: Scene, id: ExecutionId): number => {
  const seq = (seqs.get(id) ?? 0) + 1;
  seqs.set(id, seq);
  return seq;
};

const token = (number: number): LeaseToken =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}` as LeaseToken;

/** Calls that one transaction may make, whatever state things are in. */
export const CALLS: Readonly<Record<string, Call>> = {
  enqueue: async (tx, scene, chance, now) => {
    const id = chance.pick(scene.runs);
    const seq = nextSeq(scene, id);
    const attempt = chance.pick([1, 1, 2]);
    const task = newTask(id, now, seq, {
      queue: scene.queue,
      ref: chance.pick(['a', 'b', 'c']),
      attempt,
      startToCloseMs: chance.pick([0, 500]),
    });
    scene.taskIds.push(task.taskId);
    return tx.enqueueTasks([owed(id, task)]);
  },
  lease: async (tx, scene, chance) => {
    const ids = Array.from({ length: 2 }, (_, index) => token(scene.tokens.length + index));
    scene.tokens.push(...ids);
    const request = { namespace: ALPHA, queues: [scene.queue], workerId: 'w', count: chance.pick([1, 2]), tokens: ids };
    return (await tx.leaseTasks({ ...request, leaseMs: chance.pick([200, 60_000]) })).map(({ taskId, leaseToken }) => [
      taskId,
      leaseToken,
    ]);
  },
  settle: async (tx, { taskIds, tokens }, chance) =>
    taskIds.length === 0 || tokens.length === 0
      ? 'nothing'
      : tx.settleTasks(ALPHA, [
          {
            taskId: chance.pick(taskIds),
            leaseToken: chance.pick(tokens),
            status: chance.pick(['COMPLETED', 'FAILED'] as const),
            output: { n: chance.pick([1, 2]) },
          },
        ]),
  heartbeat: async (tx, { taskIds, tokens }, chance) =>
    taskIds.length === 0 || tokens.length === 0
      ? 'nothing'
      : tx.heartbeat(ALPHA, [{ taskId: chance.pick(taskIds), leaseToken: chance.pick(tokens), leaseMs: 60_000 }]),
  release: async (tx, { taskIds, tokens }, chance) =>
    taskIds.length === 0 || tokens.length === 0
      ? 'nothing'
      : tx.releaseLeases(ALPHA, [{ taskId: chance.pick(taskIds), leaseToken: chance.pick(tokens) }]),
  pass: async (tx, { runs }) => {
    const { heads } = await tx.claimEvaluations(10);
    const outcomes = await tx.readOutcomes(runs);
    return [heads.map(({ executionId }) => executionId), [...outcomes].sort()];
  },
  'pass over one': async (tx, { runs }, chance) => {
    const id = chance.pick(runs);
    const { heads } = await tx.claimEvaluationsOf([id]);
    return [heads, await tx.readOutcomes([id]), await tx.openTaskIds(id)];
  },
  request: (tx, { runs }, chance) => tx.requestEvaluations([chance.pick(runs)]),
  park: (tx, { runs }, chance) =>
    tx.parkEvaluation({
      executionId: chance.pick(runs),
      attempts: 1,
      retryAfterMs: chance.pick([0, 500]),
      reason: 'it broke',
    }),
  append: async (tx, scene, chance, now) => {
    const id = chance.pick(scene.runs);
    // Now and then at a place that is taken.
    const seq = chance.isBelow(0.2) ? 1 : nextSeq(scene, id);
    return tx.appendEvents([owed(id, pausedEvent(seq, now))]);
  },
  read: (tx, { runs }) => tx.readEvents(new Map(runs.map((id) => [id, 0]))),
  expire: (tx) => tx.expireLeases(10),
  fire: async (tx) => {
    const { evaluated, underLock } = await tx.fireTimers(10);
    return [[...evaluated].sort(), underLock];
  },
  end: (tx, { runs }, chance, now) => tx.cancelOpenWork([{ executionId: chance.pick(runs), at: now }]),
};

const someKey = (chance: Chance, id: ExecutionId) => ({
  namespace: ALPHA,
  key: chance.pick(['k1', 'k2']),
  executionId: id,
  fingerprint: 'same',
});

/** More of them, for what two sessions do to each other. */
export const CALLS_OF_TWO: Readonly<Record<string, Call>> = {
  ...CALLS,
  'request both': (tx, { runs }) => tx.requestEvaluations(runs),
  'pass over both': async (tx, { runs }) => (await tx.claimEvaluationsOf(runs)).heads,
  wait: async (tx, scene, chance, now) => {
    const id = chance.pick(scene.runs);
    const waiting = newTask(id, now, nextSeq(scene, id), { family: 'waiting', queue: '$waiting' });
    scene.waitingIds.push(waiting.taskId);
    return tx.enqueueTasks([owed(id, waiting)]);
  },
  'settle waiting': async (tx, { waitingIds }, chance) =>
    waitingIds.length === 0
      ? 'nothing'
      : tx.settleWaiting(ALPHA, [{ taskId: chance.pick(waitingIds), status: 'COMPLETED', output: {} }]),
  close: async (tx, { runs, taskIds }, chance, now) => {
    const taskId = taskIds.length === 0 ? undefined : chance.pick(taskIds);
    const id = runs.find((run) => taskId?.startsWith(run));
    if (taskId === undefined || id === undefined) return 'nothing';
    const seq = Number(taskId.slice(id.length + 1));
    return tx.closeTasks([owed(id, closeOf(newTask(id, now, seq), now))]);
  },
  arm: (tx, { runs }, chance, now) => {
    const id = chance.pick(runs);
    return tx.armTimers([owed(id, timerOf({ ref: chance.pick(['a', 'b']), iteration: 0, attempt: 1 }, 'WAIT', now))]);
  },
  disarm: (tx, { runs }, chance) =>
    tx.cancelTimers([
      owed(chance.pick(runs), { type: 'CancelTimers', ref: chance.pick(['a', 'b']), iteration: 0, attempt: 1 }),
    ]),
  project: (tx, { runs }, chance, now) =>
    tx.projectExecutions([
      owed(chance.pick(runs), {
        type: 'ProjectExecution',
        status: chance.pick(['PAUSED', 'RUNNING', 'FAILED']),
        at: now,
      }),
    ]),
  send: (tx, { runs }, chance) => tx.putMessages([owed(chance.pick(runs), messageOf(chance.pick(['m1', 'm2', 'm3'])))]),
  'take messages': async (tx, scene) => {
    const taken = await tx.claimMessages(2, 60_000);
    for (const { id } of taken) if (!scene.messageIds.includes(id)) scene.messageIds.push(id);
    return taken.map(({ dedupKey, executionId }) => [dedupKey, executionId]);
  },
  deliver: async (tx, { messageIds }) => (messageIds.length === 0 ? 'nothing' : tx.markDelivered(messageIds)),
  'claim a key': (tx, { runs }, chance) => tx.claimIdempotencyKeys([someKey(chance, chance.pick(runs))]),
  'take over a key': (tx, { runs }, chance) => tx.takeOverIdempotencyKeys([someKey(chance, chance.pick(runs))]),
  'give a key back': (tx, { runs }, chance) => tx.releaseIdempotencyKeys([someKey(chance, chance.pick(runs))]),
  'look for a key': async (tx, _scene, chance) => tx.findIdempotencyHolder(ALPHA, chance.pick(['k1', 'k2'])),
};
