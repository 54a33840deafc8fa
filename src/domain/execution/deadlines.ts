import type { TaskPolicy } from '../definition/task-definition.ts';
import { addDuration } from '../kernel/time.ts';
import type { Command } from './commands.ts';
import type { DeadlineKind, TaskScheduled } from './events.ts';
import type { ExecutionState } from './state.ts';

type ArmTimer = Extract<Command, { type: 'ArmTimer' }>;

/** Whether an attempt can ever have a timer: start-to-close is armed by the store when the first lease is taken. */
export const isTimed = (scheduled: TaskScheduled, policy: TaskPolicy): boolean =>
  scheduled.fireAt !== undefined ||
  policy.scheduleToStartMs > 0 ||
  policy.startToCloseMs > 0 ||
  policy.scheduleToCloseMs > 0;

/** The timers of an attempt that are known when it opens, without those that passed and only alerted. */
export const attemptTimers = (
  scheduled: TaskScheduled,
  policy: TaskPolicy,
  missed: readonly DeadlineKind[],
): readonly ArmTimer[] => {
  const slot = { ref: scheduled.ref, iteration: scheduled.iteration, attempt: scheduled.attempt };
  const alertOnly = policy.timeoutPolicy === 'ALERT_ONLY';
  const timers: ArmTimer[] = [];
  if (scheduled.fireAt !== undefined) {
    timers.push({ type: 'ArmTimer', ...slot, purpose: 'WAIT', fireAt: scheduled.fireAt, alertOnly: false });
  }
  if (policy.scheduleToStartMs > 0 && !missed.includes('SCHEDULE_TO_START')) {
    const fireAt = addDuration(scheduled.visibleAt, policy.scheduleToStartMs);
    timers.push({ type: 'ArmTimer', ...slot, purpose: 'SCHEDULE_TO_START', fireAt, alertOnly });
  }
  if (policy.scheduleToCloseMs > 0 && !missed.includes('SCHEDULE_TO_CLOSE')) {
    const fireAt = addDuration(scheduled.firstScheduledAt, policy.scheduleToCloseMs);
    timers.push({ type: 'ArmTimer', ...slot, purpose: 'SCHEDULE_TO_CLOSE', fireAt, alertOnly });
  }
  return timers;
};

/** The deadline of the run itself belongs to no task: its slot is empty. */
export const EXECUTION_SLOT = { ref: '', iteration: 0, attempt: 0 } as const;

/** It is about the way there, not about the way back of a run that is undone. */
export const executionTimer = (state: ExecutionState): readonly ArmTimer[] => {
  if (state.compensation !== undefined) return [];
  if (state.plan.timeoutMs === 0 || state.deadlineFrom === undefined || state.executionDeadlineMissed) return [];
  return [
    {
      type: 'ArmTimer',
      ...EXECUTION_SLOT,
      purpose: 'EXECUTION',
      fireAt: addDuration(state.deadlineFrom, state.plan.timeoutMs),
      alertOnly: state.plan.timeoutPolicy === 'ALERT_ONLY',
    },
  ];
};
