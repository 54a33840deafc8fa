import type { Instant } from '../../../../domain/kernel/brand.ts';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import type { Schedule, ScheduledStart } from '../../../../domain/schedule/schedule.ts';
import type { ScheduleRow, ScheduleRun, ScheduleRunState } from '../../../../ports/schedule-store.ts';
import type { Tag } from '../../../../ports/tag-store.ts';
import type { WorkflowSchedule } from '../schemas/schedules.ts';
import { tagBodyOf } from './tags.ts';

const cronsOf = ({ cronExpression, cronSchedules, zoneId }: WorkflowSchedule): Schedule['crons'] => {
  if (cronSchedules !== undefined && cronSchedules.length > 0) {
    return cronSchedules.map((cron) => ({ expression: cron.cronExpression, zone: cron.zoneId }));
  }
  return cronExpression === undefined ? [] : [{ expression: cronExpression, zone: zoneId }];
};

const startOf = (request: WorkflowSchedule['startWorkflowRequest']): ScheduledStart => {
  const { name, version, correlationId, input, taskToDomain, priority } = request;
  return {
    name,
    input,
    priority,
    // To Conductor, version 0 is the latest.
    ...(version === undefined || version === 0 ? {} : { version }),
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(taskToDomain === undefined ? {} : { taskToDomain }),
  };
};

/** What Conductor says of a schedule, in our words: 0 is no time there. */
export const scheduleOf = (given: WorkflowSchedule): Schedule => ({
  name: given.name,
  ...(given.description === undefined ? {} : { description: given.description }),
  crons: cronsOf(given),
  ...(given.scheduleStartTime ? { startAt: given.scheduleStartTime as Instant } : {}),
  ...(given.scheduleEndTime ? { endAt: given.scheduleEndTime as Instant } : {}),
  overlap: 'ALLOW',
  catchUp: given.runCatchupScheduleInstances ? 'FIRE_ALL' : 'SKIP',
  jitterMs: 0,
  start: startOf(given.startWorkflowRequest),
  dialect: 'conductor',
});

const requestOf = ({ name, version, correlationId, input, taskToDomain, priority }: ScheduledStart): JsonObject => ({
  name,
  ...(version === undefined ? {} : { version }),
  ...(correlationId === undefined ? {} : { correlationId }),
  input,
  taskToDomain: taskToDomain ?? {},
  priority,
});

export const scheduleBodyOf = ({ schedule, ...row }: ScheduleRow, tags: readonly Tag[] = []): JsonObject => {
  const { name, description, crons, startAt, endAt, catchUp, start } = schedule;
  const [first] = crons;
  return {
    name,
    ...(description === undefined ? {} : { description }),
    cronExpression: first?.expression ?? '',
    zoneId: first?.zone ?? 'UTC',
    cronSchedules: crons.map(({ expression, zone }) => ({ cronExpression: expression, zoneId: zone })),
    runCatchupScheduleInstances: catchUp !== 'SKIP',
    paused: row.paused,
    ...(row.pausedReason === undefined ? {} : { pausedReason: row.pausedReason }),
    startWorkflowRequest: requestOf(start),
    ...(startAt === undefined ? {} : { scheduleStartTime: startAt }),
    ...(endAt === undefined ? {} : { scheduleEndTime: endAt }),
    createTime: row.createdAt,
    updatedTime: row.updatedAt,
    createdBy: row.createdBy,
    updatedBy: row.updatedBy,
    ...(row.nextAt === undefined ? {} : { nextRunTime: row.nextAt }),
    tags: tags.map(tagBodyOf),
  };
};

/** Conductor has no word for a firing that was passed over: it failed, and the reason says how. */
const STATES: Readonly<Record<ScheduleRunState, 'EXECUTED' | 'FAILED'>> = {
  STARTED: 'EXECUTED',
  FAILED: 'FAILED',
  SKIPPED: 'FAILED',
  MISSED: 'FAILED',
};

export const stateOf = (run: ScheduleRun): string => STATES[run.state];

/** An entry of the history; the request is that of the schedule as it is now, if it still is. */
export const scheduleRunBodyOf = (run: ScheduleRun, schedule: Schedule | undefined): JsonObject => ({
  executionId: run.executionId,
  scheduleName: run.name,
  scheduledTime: run.scheduledAt,
  executionTime: run.recordedAt,
  workflowName: run.workflowName,
  ...(run.state === 'STARTED' ? { workflowId: run.executionId } : {}),
  ...(run.reason === undefined ? {} : { reason: run.reason }),
  ...(schedule === undefined ? {} : { startWorkflowRequest: requestOf(schedule.start) }),
  state: STATES[run.state],
  zoneId: schedule?.crons[0]?.zone ?? 'UTC',
});
