import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import type { Schedule } from '../../../domain/schedule/schedule.ts';
import type { ScheduleRow, ScheduleRun } from '../../../ports/schedule-store.ts';
import type { ScheduleBody, ScheduleRequest, ScheduleRunBody } from '../schemas/schedules.ts';
import { isoText } from './instant-wire.ts';

const MS_PER_SECOND = 1_000;

type Times = Pick<ScheduleRequest, 'cron' | 'timezone' | 'crons' | 'startAt' | 'endAt'>;

export const timesOf = ({
  cron,
  timezone,
  crons,
  startAt,
  endAt,
}: Times): Pick<Schedule, 'crons' | 'startAt' | 'endAt'> => ({
  crons:
    cron === undefined
      ? (crons ?? []).map((each) => ({ expression: each.cron, zone: each.timezone }))
      : [{ expression: cron, zone: timezone ?? 'UTC' }],
  ...(startAt === undefined ? {} : { startAt }),
  ...(endAt === undefined ? {} : { endAt }),
});

export const scheduleOf = (name: string, body: ScheduleRequest): Schedule => {
  const { description, overlap, catchUp, jitterSeconds, workflow } = body;
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...timesOf(body),
    overlap,
    catchUp,
    jitterMs: Math.round(jitterSeconds * MS_PER_SECOND),
    start: withoutUndefined(workflow),
    dialect: 'v1',
  };
};

export const scheduleBody = ({ schedule, ...row }: ScheduleRow): ScheduleBody => ({
  name: schedule.name,
  ...(schedule.description === undefined ? {} : { description: schedule.description }),
  crons: schedule.crons.map(({ expression, zone }) => ({ cron: expression, timezone: zone })),
  ...(schedule.startAt === undefined ? {} : { startAt: isoText(schedule.startAt) }),
  ...(schedule.endAt === undefined ? {} : { endAt: isoText(schedule.endAt) }),
  overlap: schedule.overlap,
  catchUp: schedule.catchUp,
  jitterSeconds: schedule.jitterMs / MS_PER_SECOND,
  workflow: {
    ...schedule.start,
    ...(schedule.start.taskToDomain && { taskToDomain: { ...schedule.start.taskToDomain } }),
  },
  paused: row.paused,
  ...(row.pausedReason === undefined ? {} : { pausedReason: row.pausedReason }),
  ...(row.nextAt === undefined ? {} : { nextRunAt: isoText(row.nextAt) }),
  createdAt: isoText(row.createdAt),
  updatedAt: isoText(row.updatedAt),
  createdBy: row.createdBy,
  updatedBy: row.updatedBy,
});

export const scheduleRunBody = (run: ScheduleRun): ScheduleRunBody => ({
  schedule: run.name,
  workflow: run.workflowName,
  state: run.state,
  manual: run.manual,
  scheduledAt: isoText(run.scheduledAt),
  recordedAt: isoText(run.recordedAt),
  ...(run.state === 'STARTED' ? { workflowId: run.executionId } : {}),
  ...(run.reason === undefined ? {} : { reason: run.reason }),
});
