import { z } from 'zod';
import type { JsonObject } from '../../../../domain/kernel/json.ts';
import { SCHEDULE_CRONS_MAX } from '../../../../domain/schedule/schedule.ts';
import * as field from './fields.ts';
import { tags } from './metadata.ts';

/** The last millisecond of the year 9999. */
export const MILLIS_MAX = 253_402_300_799_999;

const startWorkflowRequest = z.object({
  name: field.text,
  version: field.maybe(field.version),
  correlationId: field.maybe(field.text),
  input: field.otherwise(field.object, {} as JsonObject),
  taskToDomain: field.maybe(z.record(z.string(), field.text)),
  priority: field.otherwise(field.priority, 0),
});

const cronSchedule = z.object({ cronExpression: field.text, zoneId: field.otherwise(field.text, 'UTC') });

export const workflowSchedule = z.object({
  name: field.text,
  description: field.maybe(field.text),
  cronExpression: field.maybe(field.text),
  cronSchedules: field.maybe(z.array(cronSchedule).max(SCHEDULE_CRONS_MAX)),
  zoneId: field.otherwise(field.text, 'UTC'),
  runCatchupScheduleInstances: field.otherwise(field.flag, false),
  paused: field.maybe(field.flag),
  pausedReason: field.maybe(field.text),
  startWorkflowRequest,
  scheduleStartTime: field.maybe(field.integer(0, MILLIS_MAX)),
  scheduleEndTime: field.maybe(field.integer(0, MILLIS_MAX)),
  tags: field.maybe(tags),
});
export type WorkflowSchedule = z.output<typeof workflowSchedule>;

export const scheduleNames = z.array(field.text).max(1_000);
