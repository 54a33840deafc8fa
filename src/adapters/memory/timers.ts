import type { ExecutionId } from '../../domain/kernel/brand.ts';
import { addMs } from '../../domain/kernel/brand.ts';
import type { DueTimer, EngineTx } from '../../ports/engine-store.ts';
import { setOutcome } from './outcomes.ts';
import { attemptKey, type TimerRow, timerKey } from './rows.ts';
import type { MemoryState } from './state.ts';
import type { TimerLine } from './tables.ts';

/** Arms the timer, or moves the one that is armed. */
export const armTimer = (state: MemoryState, timer: Omit<TimerRow, 'order'>): void =>
  state.tables.timers.put({ ...timer, order: state.nextOrder() });

export const dropTimer = (state: MemoryState, timer: DueTimer): void => {
  state.tables.timers.delete(timerKey(timer));
};

const dueTimers = (state: MemoryState, line: TimerLine, limit: number): readonly TimerRow[] => {
  const now = state.now();
  const due: TimerRow[] = [];
  for (const timer of state.tables.timers.byDue.in(line)) {
    if (timer.fireAt > now || due.length >= limit) break;
    due.push(timer);
  }
  return due;
};

/** Ends the attempt that the timer belongs to, if nothing else has. Says whether it did. */
const fireTimer = (state: MemoryState, timer: TimerRow): boolean => {
  dropTimer(state, timer);
  const row = state.tables.openTasks.byAttempt.first(attemptKey(timer.executionId, timer));
  if (row === undefined || row.outcome !== undefined || timer.purpose === 'EXECUTION') return false;
  // A task that was leased once is past its wait for a worker, whatever its timer says.
  if (timer.purpose === 'SCHEDULE_TO_START' && row.startedAt !== undefined) return false;
  if (timer.purpose === 'WAIT') {
    setOutcome(state, row, { status: 'COMPLETED', output: {} });
  } else {
    const reason = `the ${timer.purpose} deadline passed`;
    setOutcome(state, row, { status: 'TIMED_OUT', output: {}, deadline: timer.purpose, reason });
  }
  return true;
};

const dueTimer = ({ executionId, ref, iteration, attempt, purpose }: TimerRow): DueTimer => ({
  executionId,
  ref,
  iteration,
  attempt,
  purpose,
});

/** Deadlines and waits. */
export const timerWrites = (
  state: MemoryState,
): Pick<EngineTx, 'armTimers' | 'cancelTimers' | 'fireTimers' | 'dropTimers' | 'postponeTimers'> => ({
  armTimers: async (armed) => {
    for (const { executionId, item } of armed) {
      const { ref, iteration, attempt, purpose, fireAt, alertOnly } = item;
      armTimer(state, { executionId, ref, iteration, attempt, purpose, fireAt, alertOnly });
    }
  },
  cancelTimers: async (canceled) => {
    for (const { executionId, item } of canceled) {
      for (const timer of [...state.tables.timers.byAttempt.in(attemptKey(executionId, item))]) dropTimer(state, timer);
    }
  },
  fireTimers: async (limit) => {
    const evaluated = new Set<ExecutionId>();
    for (const timer of dueTimers(state, 'fires', limit)) {
      if (fireTimer(state, timer)) evaluated.add(timer.executionId);
    }
    return { evaluated: [...evaluated], underLock: dueTimers(state, 'underLock', limit).map(dueTimer) };
  },
  dropTimers: async (timers) => {
    const now = state.now();
    const due = timers.filter(
      (timer) => (state.tables.timers.get(timerKey(timer))?.fireAt ?? Number.POSITIVE_INFINITY) <= now,
    );
    for (const timer of due) dropTimer(state, timer);
    return due.length;
  },
  postponeTimers: async (timers, delayMs) => {
    const now = state.now();
    for (const timer of timers) {
      const armed = state.tables.timers.get(timerKey(timer));
      if (armed !== undefined && armed.fireAt <= now) armTimer(state, { ...armed, fireAt: addMs(now, delayMs) });
    }
  },
});
