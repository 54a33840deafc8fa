import type { ExecutionId } from '../../../../src/domain/kernel/brand.ts';
import type { DueTimer } from '../../../../src/ports/engine-store.ts';
import { attemptKey, type OutcomeColumns, type QueueRow, queueKey, type TimerRow, timerKey } from '../rows.ts';
import type { Tx, TxMethods } from '../session.ts';
import type { Statement } from '../statement.ts';
import { requestOutcomeReads } from './decide-queue.ts';

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const expireLeases = async (session: Tx, limit: number): Promise<readonly ExecutionId[]> => {
  const { taskQueue } = session.database.tables;
  if (session.plant === 'expired-forever') return [];
  const seen = await session.run('peek-leases', (statement) => {
    const now = statement.now();
    const isExpired = (row: QueueRow) => row.outcome === undefined && (row.leaseExpiresAt ?? Infinity) <= now;
    const expired = statement.scan(taskQueue.cells.values(), isExpired).map(({ row }) => row);
    expired.sort((a, b) => (a.leaseExpiresAt ?? 0) - (b.leaseExpiresAt ?? 0));
    return expired.slice(0, limit).map(({ executionId, seq }) => ({ executionId, seq }));
  });
  if (seen.length === 0) return [];
  await requestOutcomeReads(session, seen);
  return session.run('expire', async (statement) => {
    const ended = new Set<ExecutionId>();
    const inOrder = seen.toSorted((a, b) => compareText(a.executionId, b.executionId) || a.seq - b.seq);
    for (const { executionId, seq } of inOrder) {
      const cell = taskQueue.find(queueKey(executionId, seq));
      const row = statement.get(cell);
      const isExpired = (each: QueueRow) =>
        each.outcome === undefined &&
        (session.plant === 'expiry-unchecked' || (each.leaseExpiresAt ?? Infinity) <= statement.now());
      if (cell === undefined || row === undefined || !isExpired(row)) continue;
      const latest = await statement.lock(cell, isExpired);
      if (latest === undefined) continue;
      const reason = `no heartbeat from worker ${latest.workerId} before its lease ended`;
      const outcome: OutcomeColumns = {
        status: 'TIMED_OUT',
        deadline: 'HEARTBEAT',
        output: {},
        reason,
        at: statement.now(),
      };
      statement.write(cell, { ...latest, outcome });
      ended.add(executionId);
    }
    return [...ended];
  });
};

const dueTimer = ({ executionId, ref, iteration, attempt, purpose }: TimerRow): DueTimer => ({
  executionId,
  ref,
  iteration,
  attempt,
  purpose,
});

const taskOf = (session: Tx, statement: Statement, timer: DueTimer) => {
  for (const cell of session.database.tables.taskQueue.ofRun(timer.executionId)) {
    const row = statement.get(cell);
    if (row !== undefined && attemptKey(row.task) === attemptKey(timer)) return { cell, row };
  }
  return undefined;
};

const peekTimers = (session: Tx, underLock: boolean, limit: number) =>
  session.run('peek-timers', (statement) => {
    const now = statement.now();
    const isDue = (row: TimerRow) => row.underLock === underLock && row.fireAt <= now;
    const due = statement.scan(session.database.tables.timers.cells.values(), isDue).map(({ row }) => row);
    due.sort((a, b) => a.fireAt - b.fireAt);
    return due.slice(0, limit).map((row) => ({ timer: dueTimer(row), task: taskOf(session, statement, row)?.row }));
  });

const outcomeOf = ({ purpose }: DueTimer, at: number): OutcomeColumns => {
  if (purpose === 'WAIT') return { status: 'COMPLETED', output: {}, at };
  const deadline = purpose as Exclude<typeof purpose, 'EXECUTION'>;
  return { status: 'TIMED_OUT', deadline, output: {}, reason: `the ${purpose} deadline passed`, at };
};

const isStillDue = (session: Tx, timer: TimerRow | undefined, now: number): boolean => {
  if (timer === undefined) return false;
  return session.plant === 'timer-boundary' ? timer.fireAt < now : timer.fireAt <= now;
};

const setTimerOutcomes = (session: Tx, due: readonly DueTimer[]): Promise<readonly ExecutionId[]> =>
  session.run('fire', async (statement) => {
    const now = statement.now();
    const still = due.filter((timer) =>
      isStillDue(session, statement.find(session.database.tables.timers, timerKey(timer)), now),
    );
    const joined = still.flatMap((timer) => {
      const task = taskOf(session, statement, timer);
      return task === undefined ? [] : [{ timer, ...task }];
    });
    joined.sort((a, b) => compareText(a.row.executionId, b.row.executionId) || a.row.seq - b.row.seq);
    const fired = new Set<ExecutionId>();
    const touched = new Set<string>();
    for (const { timer, cell, row } of joined) {
      const isOpen = (each: QueueRow) =>
        (each.outcome === undefined || session.plant === 'timer-overwrites') &&
        (timer.purpose !== 'SCHEDULE_TO_START' || each.startedAt === undefined);
      if (touched.has(cell.key) || !isOpen(row)) continue;
      const latest = await statement.lock(cell, isOpen);
      if (latest === undefined) continue;
      touched.add(cell.key);
      statement.write(cell, { ...latest, outcome: outcomeOf(timer, statement.now()) });
      fired.add(timer.executionId);
    }
    return [...fired];
  });

const dropTimers = async (session: Tx, due: readonly DueTimer[]): Promise<number> => {
  if (due.length === 0) return 0;
  return session.run('drop-timers', async (statement) => {
    const isDue = (row: TimerRow) => row.fireAt <= statement.now();
    let dropped = 0;
    for (const timer of due.toSorted((a, b) => compareText(timerKey(a), timerKey(b)))) {
      const cell = session.database.tables.timers.find(timerKey(timer));
      const row = statement.get(cell);
      if (cell === undefined || row === undefined || !isDue(row)) continue;
      if ((await statement.lock(cell, isDue)) === undefined) continue;
      statement.write(cell, undefined);
      dropped += 1;
    }
    return dropped;
  });
};

const fireTaskTimers = async (session: Tx, limit: number): Promise<readonly ExecutionId[]> => {
  const due = await peekTimers(session, false, limit);
  if (due.length === 0) return [];
  const ending = due.flatMap(({ task }) =>
    task === undefined ? [] : [{ executionId: task.executionId, seq: task.seq }],
  );
  await requestOutcomeReads(session, ending);
  const timers = due.map(({ timer }) => timer);
  const fired = ending.length === 0 ? [] : await setTimerOutcomes(session, timers);
  await dropTimers(session, timers);
  return fired;
};

const timersUnderLock = async (session: Tx, limit: number): Promise<readonly DueTimer[]> => {
  const due = await peekTimers(session, true, limit);
  const isVoid = ({ timer, task }: (typeof due)[number]): boolean =>
    timer.purpose === 'SCHEDULE_TO_START' && task?.startedAt !== undefined;
  const toDrop = due.filter(isVoid).map(({ timer }) => timer);
  await dropTimers(session, toDrop);
  return due.filter((each) => !isVoid(each)).map(({ timer }) => timer);
};

export const deadlineMethods = (
  session: Tx,
): Pick<TxMethods, 'expireLeases' | 'fireTimers' | 'dropTimers' | 'postponeTimers' | 'armTimers' | 'cancelTimers'> => {
  const { timers } = session.database.tables;
  return {
    expireLeases: (limit) => expireLeases(session, limit),
    fireTimers: async (limit) => ({
      evaluated: await fireTaskTimers(session, limit),
      underLock: await timersUnderLock(session, limit),
    }),
    dropTimers: (due) => dropTimers(session, due),
    postponeTimers: async (due, delayMs) => {
      if (due.length === 0) return;
      await session.run('postpone', async (statement) => {
        const isDue = (row: TimerRow) => row.fireAt <= statement.now();
        for (const timer of due.toSorted((a, b) => compareText(timerKey(a), timerKey(b)))) {
          const cell = timers.find(timerKey(timer));
          const seen = statement.get(cell);
          if (cell === undefined || seen === undefined || !isDue(seen)) continue;
          const row = await statement.lock(cell, isDue);
          if (row !== undefined) statement.write(cell, { ...row, fireAt: statement.now() + delayMs });
        }
      });
    },
    armTimers: async (armed) => {
      if (armed.length === 0) return;
      await session.run('arm', async (statement) => {
        const rows = new Map<string, TimerRow>();
        for (const { executionId, namespace, item } of armed) {
          const { ref, iteration, attempt, purpose, fireAt, alertOnly } = item;
          const underLock = purpose === 'EXECUTION' || (alertOnly && purpose !== 'WAIT');
          const row = { executionId, namespace, ref, iteration, attempt, purpose, fireAt, underLock };
          rows.set(timerKey(row), row);
        }
        for (const [, row] of [...rows].sort(([a], [b]) => compareText(a, b))) {
          await statement.upsert(timers, row, () => row);
        }
      });
    },
    cancelTimers: async (canceled) => {
      if (canceled.length === 0) return;
      await session.run('cancel-timers', async (statement) => {
        const wanted = new Set(canceled.map(({ executionId, item }) => `${executionId}|${attemptKey(item)}`));
        const runs = new Set(canceled.map(({ executionId }) => executionId));
        const found = [...runs].flatMap((run) =>
          statement.scan(timers.ofRun(run), (row) => wanted.has(`${row.executionId}|${attemptKey(row)}`)),
        );
        for (const { cell } of found.sort((a, b) => compareText(a.cell.key, b.cell.key))) {
          if ((await statement.lock(cell)) !== undefined) statement.write(cell, undefined);
        }
      });
    },
  };
};
