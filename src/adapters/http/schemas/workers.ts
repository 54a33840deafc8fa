import { z } from 'zod';
import {
  count,
  instantText,
  jsonObject,
  jsonValue,
  nameText,
  reasonText,
  uuidText,
  WAIT_SECONDS_MAX,
} from './common.ts';
import { reportStatus } from './executions.ts';

export const LEASE_TASKS_MAX = 1_000;
export const LEASE_SECONDS_MAX = 86_400;
export const LEASE_QUEUES_MAX = 100;
export const REPORTS_MAX = 1_000;
export const LOG_LINES_MAX = 1_000;
export const LOG_LINE_CHARS_MAX = 16_384;

const leaseSeconds = z.int().min(1).max(LEASE_SECONDS_MAX);
/** Any text: one that is not the current token is answered LEASE_LOST, whatever it looks like. */
const leaseToken = z.string().min(1).max(64);
const taskId = z.string().min(1).max(64);

export const leaseRequest = z.strictObject({
  workerId: nameText,
  count: z.int().min(1).max(LEASE_TASKS_MAX).default(1),
  waitSeconds: z.int().min(0).max(WAIT_SECONDS_MAX).default(0),
  /** Absent: each task's own heartbeat time. */
  leaseSeconds: leaseSeconds.optional(),
  /** Served after the queue of the path, in this order. */
  queues: z.array(nameText).max(LEASE_QUEUES_MAX).default([]),
});
export type LeaseBody = z.input<typeof leaseRequest>;

export const leasedTask = z.strictObject({
  taskId: z.string(),
  workflowId: uuidText,
  taskRef: z.string(),
  /** 0: not in a loop. */
  iteration: z.int(),
  attempt: z.int(),
  taskName: z.string(),
  taskType: z.string(),
  queue: z.string(),
  priority: z.int(),
  leaseToken: uuidText,
  leaseExpiresAt: instantText,
  input: jsonValue,
  scheduledAt: instantText,
  startedAt: instantText,
});
export type LeasedTaskBody = z.output<typeof leasedTask>;

export const leaseAnswer = z.strictObject({ tasks: z.array(leasedTask) });
export type LeaseAnswerBody = z.output<typeof leaseAnswer>;

export const heartbeatRequest = z.strictObject({
  leaseToken,
  leaseSeconds: leaseSeconds.optional(),
  progress: jsonValue.optional(),
});
export type HeartbeatBody = z.input<typeof heartbeatRequest>;

export const heartbeatAnswer = z.strictObject({ taskId: z.string(), leaseExpiresAt: instantText });
export type HeartbeatAnswerBody = z.output<typeof heartbeatAnswer>;

export const reportRequest = z.strictObject({
  leaseToken,
  status: reportStatus,
  output: jsonObject.default({}),
  reason: reasonText.optional(),
});

export const reportAnswer = z.strictObject({
  taskId: z.string(),
  status: z.literal('settled'),
  /** The very same report was settled before. */
  repeated: z.boolean(),
});
export type ReportAnswerBody = z.output<typeof reportAnswer>;

export const reportManyRequest = z.strictObject({
  reports: z.array(reportRequest.extend({ taskId })).min(1).max(REPORTS_MAX),
});

/** One answer a report, in the order of the reports. */
export const reportManyAnswer = z.strictObject({
  answers: z.array(
    z.discriminatedUnion('status', [
      reportAnswer,
      z.strictObject({
        taskId: z.string(),
        status: z.literal('refused'),
        error: z.string(),
        message: z.string(),
        path: z.string().optional(),
      }),
    ]),
  ),
});
export type ReportManyAnswerBody = z.output<typeof reportManyAnswer>;

export const releaseRequest = z.strictObject({ leaseToken });
export type ReleaseBody = z.input<typeof releaseRequest>;

export const logsRequest = z.strictObject({
  leaseToken,
  lines: z.array(z.string().max(LOG_LINE_CHARS_MAX)).min(1).max(LOG_LINES_MAX),
});
export type LogsBody = z.input<typeof logsRequest>;

export const logPage = z.strictObject({
  lines: z.array(z.strictObject({ at: instantText, line: z.string() })),
  nextCursor: z.string().optional(),
});
export type LogPageBody = z.output<typeof logPage>;

export const queueDepth = z.strictObject({
  queue: z.string(),
  /** Visible and not leased. */
  ready: count,
  leased: count,
  /** Not yet visible. */
  delayed: count,
  oldestReadyAgeMs: z.number().optional(),
  concurrentExecLimit: count.optional(),
});
export type QueueDepthBody = z.output<typeof queueDepth>;

export const queueList = z.strictObject({ queues: z.array(queueDepth) });
export type QueueListBody = z.output<typeof queueList>;

export const workerList = z.strictObject({
  workers: z.array(z.strictObject({ queue: z.string(), workerId: z.string(), lastPollAt: instantText })),
});
export type WorkerListBody = z.output<typeof workerList>;
