import { z } from 'zod';
import type { TaskUpdate } from '../../../../application/unfenced/task-update.ts';
import type { TaskId } from '../../../../domain/kernel/brand.ts';
import { INTEGER_MAX } from '../../schemas/common.ts';
import { LEASE_TASKS_MAX, LOG_LINE_CHARS_MAX, LOG_LINES_MAX } from '../../schemas/workers.ts';
import * as field from './fields.ts';

/** Characters of a reason that are kept. */
export const REASON_CHARS_MAX = 500;
/** The longest that a batch poll waits, in milliseconds. */
export const POLL_TIMEOUT_MS_MAX = 5_000;
/** How long polls wait that name no time, in milliseconds. */
export const POLL_TIMEOUT_MS = 100;
/** Characters of the name of a worker. */
const WORKER_ID_CHARS_MAX = 255;

/** How an attempt can be told to stand: what Conductor calls TaskResult.Status. */
export const resultStatus = z.enum(['IN_PROGRESS', 'COMPLETED', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR', 'CANCELED']);

const logLine = z
  .union([field.text, z.object({ log: field.otherwise(field.text, '') }).transform(({ log }) => log)])
  .transform((line) => line.slice(0, LOG_LINE_CHARS_MAX));

const notNegative = (value: number): number => Math.min(Math.max(0, Math.trunc(value)), INTEGER_MAX);

/** An update whose output may have been uploaded before. */
export type GivenUpdate = TaskUpdate & Readonly<{ outputPath?: string }>;

/** Conductor's TaskResult; `workflowInstanceId` is a part of the id here, and not asked for. */
export const taskResult = z
  .object({
    taskId: field.text.refine((id) => id !== '', 'Task ID cannot be null or empty'),
    workflowInstanceId: field.maybe(field.text),
    workerId: field.maybe(field.text),
    status: field.otherwise(resultStatus, 'IN_PROGRESS'),
    outputData: field.otherwise(field.object, {}),
    reasonForIncompletion: field.maybe(field.text),
    callbackAfterSeconds: field.otherwise(field.decimal, 0),
    extendLease: field.otherwise(field.flag, false),
    logs: field.otherwise(z.array(logLine).max(LOG_LINES_MAX), []),
    externalOutputPayloadStoragePath: field.maybe(field.text),
  })
  .transform(
    ({ taskId, workerId, status, outputData, reasonForIncompletion: reason, ...rest }): GivenUpdate => ({
      taskId: taskId as TaskId,
      status,
      output: outputData,
      afterSeconds: notNegative(rest.callbackAfterSeconds),
      extendsLease: rest.extendLease,
      logs: rest.logs,
      ...(workerId !== undefined && workerId !== '' && { workerId: workerId.slice(0, WORKER_ID_CHARS_MAX) }),
      ...(reason !== undefined && { reason: reason.slice(0, REASON_CHARS_MAX) }),
      ...(rest.externalOutputPayloadStoragePath && { outputPath: rest.externalOutputPayloadStoragePath }),
    }),
  );

/** Who polls, and for which domain. */
export const pollQuery = {
  workerid: field.query.text.transform((id) => id?.slice(0, WORKER_ID_CHARS_MAX)),
  domain: field.query.text,
};

export const batchPollQuery = z.object({
  ...pollQuery,
  count: field.query
    .integerOr(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 1)
    .transform((count) => Math.min(Math.max(0, count), LEASE_TASKS_MAX)),
  timeout: field.query
    .integerOr(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, POLL_TIMEOUT_MS)
    .refine((ms) => ms <= POLL_TIMEOUT_MS_MAX, 'Long Poll Timeout value cannot be more than 5 seconds')
    .transform((ms) => Math.max(0, ms)),
});
