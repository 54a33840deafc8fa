import { z } from 'zod';
import { PREVIEW_MAX } from '../../../application/schedule-use-cases.ts';
import { CATCH_UPS, OVERLAPS, SCHEDULE_CRONS_MAX, SCHEDULE_JITTER_MS_MAX } from '../../../domain/schedule/schedule.ts';
import { SCHEDULE_RUN_STATES } from '../../../ports/schedule-store.ts';
import {
  instantInput,
  instantText,
  integerQuery,
  jsonObject,
  nameText,
  pageQuery,
  reasonText,
  uuidText,
  versionNumber,
} from './common.ts';

const MS_PER_SECOND = 1_000;
const CRON_CHARS_MAX = 255;
const ZONE_CHARS_MAX = 64;
const DESCRIPTION_CHARS_MAX = 4_096;
const PREVIEW_DEFAULT = 5;
const PRIORITY_MAX = 99;

const cronText = z.string().min(1).max(CRON_CHARS_MAX);
const zoneText = z.string().min(1).max(ZONE_CHARS_MAX);

const cronInput = z.strictObject({ cron: cronText, timezone: zoneText.default('UTC') });

/** One cron with its zone, or a list of them. */
const times = z.strictObject({
  cron: cronText.optional(),
  timezone: zoneText.optional(),
  crons: z.array(cronInput).min(1).max(SCHEDULE_CRONS_MAX).optional(),
  startAt: instantInput.optional(),
  endAt: instantInput.optional(),
});

const hasOneForm = ({ cron, crons, timezone }: z.output<typeof times>): boolean =>
  cron === undefined ? crons !== undefined && timezone === undefined : crons === undefined;
const ONE_FORM = { message: 'needs either cron, with a timezone if wanted, or crons', path: ['cron'] };

const workflow = z.strictObject({
  name: nameText,
  version: versionNumber.optional(),
  input: jsonObject.default({}),
  correlationId: nameText.optional(),
  priority: z.int().min(0).max(PRIORITY_MAX).default(0),
  taskToDomain: z.record(nameText, nameText).optional(),
});

export const scheduleRequest = times
  .extend({
    description: z.string().max(DESCRIPTION_CHARS_MAX).optional(),
    overlap: z.enum(OVERLAPS).default('ALLOW'),
    catchUp: z.enum(CATCH_UPS).default('SKIP'),
    jitterSeconds: z
      .number()
      .min(0)
      .max(SCHEDULE_JITTER_MS_MAX / MS_PER_SECOND)
      .default(0),
    paused: z.boolean().optional(),
    pausedReason: reasonText.optional(),
    workflow,
  })
  .refine(hasOneForm, ONE_FORM);
export type ScheduleRequest = z.output<typeof scheduleRequest>;

export const previewRequest = times
  .extend({ after: instantInput.optional(), count: z.int().min(1).max(PREVIEW_MAX).default(PREVIEW_DEFAULT) })
  .refine(hasOneForm, ONE_FORM);

export const schedule = z.strictObject({
  name: z.string(),
  description: z.string().optional(),
  crons: z.array(z.strictObject({ cron: z.string(), timezone: z.string() })),
  startAt: instantText.optional(),
  endAt: instantText.optional(),
  overlap: z.enum(OVERLAPS),
  catchUp: z.enum(CATCH_UPS),
  jitterSeconds: z.number(),
  workflow: z.strictObject({
    name: z.string(),
    version: z.int().optional(),
    input: jsonObject,
    correlationId: z.string().optional(),
    priority: z.int(),
    taskToDomain: z.record(z.string(), z.string()).optional(),
  }),
  paused: z.boolean(),
  pausedReason: z.string().optional(),
  /** Absent: it never fires again. While it is paused: what it stands at. */
  nextRunAt: instantText.optional(),
  createdAt: instantText,
  updatedAt: instantText,
  createdBy: z.string(),
  updatedBy: z.string(),
});
export type ScheduleBody = z.output<typeof schedule>;

export const schedulePut = schedule.extend({ outcome: z.enum(['created', 'unchanged', 'replaced']) });
export type SchedulePutBody = z.output<typeof schedulePut>;

export const schedulePage = z.strictObject({ schedules: z.array(schedule), nextCursor: z.string().optional() });
export type SchedulePageBody = z.output<typeof schedulePage>;

export const scheduleQuery = pageQuery.extend({
  workflow: nameText.optional(),
  paused: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional(),
  text: z.string().min(1).max(CRON_CHARS_MAX).optional(),
});

export const pauseScheduleRequest = z.strictObject({ reason: reasonText.optional() });

export const firedSchedule = z.strictObject({ workflowId: uuidText });
export type FiredScheduleBody = z.output<typeof firedSchedule>;

export const previewQuery = z.strictObject({ count: integerQuery(1, PREVIEW_MAX).default(PREVIEW_DEFAULT) });

export const preview = z.strictObject({ runs: z.array(instantText) });
export type PreviewBody = z.output<typeof preview>;

export const scheduleRun = z.strictObject({
  schedule: z.string(),
  workflow: z.string(),
  state: z.enum(SCHEDULE_RUN_STATES),
  /** Fired by hand. */
  manual: z.boolean(),
  scheduledAt: instantText,
  recordedAt: instantText,
  /** Of a firing that started a run. */
  workflowId: uuidText.optional(),
  reason: z.string().optional(),
});
export type ScheduleRunBody = z.output<typeof scheduleRun>;

export const scheduleRunPage = z.strictObject({ runs: z.array(scheduleRun), nextCursor: z.string().optional() });
export type ScheduleRunPageBody = z.output<typeof scheduleRunPage>;
