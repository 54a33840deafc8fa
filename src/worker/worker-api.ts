import type { HttpClient } from '../client/http-client.ts';
import type {
  HeartbeatBody,
  LeaseAnswerBody,
  LeaseBody,
  LeasedTaskBody,
  LogsBody,
  ReleaseBody,
  ReportManyAnswerBody,
} from '../client/wire.ts';

/** The lease call may take this much longer than the wait it asked for. */
const LEASE_GRACE_MS = 15_000;

export type LeasedTask = LeasedTaskBody;
export type LeaseRequest = Readonly<
  Omit<LeaseBody, 'queues'> & { waitSeconds: number; queues: readonly [string, ...string[]] }
>;
export type Lease = Readonly<Pick<LeasedTask, 'taskId' | 'leaseToken'>>;
export type Leased = Readonly<{ tasks: readonly LeasedTask[]; serverTimeMs: number | undefined }>;
export type ReportAnswer = ReportManyAnswerBody['answers'][number];

/** The five calls of a worker. Polls, heartbeats and reports never repeat by themselves: the worker decides that. */
export class WorkerApi {
  private readonly client: HttpClient;

  constructor(client: HttpClient) {
    this.client = client;
  }

  async lease(request: LeaseRequest, signal: AbortSignal): Promise<Leased> {
    const [first, ...others] = request.queues;
    const body: LeaseBody = { ...request, queues: others };
    const path = `/queues/${encodeURIComponent(first)}/lease`;
    const timeoutMs = request.waitSeconds * 1000 + LEASE_GRACE_MS;
    const answer = await this.client.exchange<LeaseAnswerBody>('POST', path, {
      body,
      signal,
      timeoutMs,
      attemptsMax: 1,
    });
    return { tasks: answer.body.tasks, serverTimeMs: answer.serverTimeMs };
  }

  async heartbeat(lease: Lease, facts: Omit<HeartbeatBody, 'leaseToken'>, signal: AbortSignal): Promise<void> {
    const body: HeartbeatBody = { leaseToken: lease.leaseToken, ...facts };
    await this.client.call('POST', taskPath(lease, 'heartbeat'), { body, signal, attemptsMax: 1 });
  }

  async log(lease: Lease, lines: string[]): Promise<void> {
    const body: LogsBody = { leaseToken: lease.leaseToken, lines };
    await this.client.call('POST', taskPath(lease, 'logs'), { body });
  }

  /** `reports` are JSON text already, so that each is serialised once. One answer a report, in their order. */
  async report(reports: readonly string[], signal: AbortSignal): Promise<readonly ReportAnswer[]> {
    const { answers } = await this.client.call<ReportManyAnswerBody>('POST', '/tasks/report', {
      rawBody: `{"reports":[${reports.join(',')}]}`,
      signal,
      attemptsMax: 1,
    });
    return answers;
  }

  async release(lease: Lease): Promise<void> {
    const body: ReleaseBody = { leaseToken: lease.leaseToken };
    await this.client.call('POST', taskPath(lease, 'release'), { body, idempotent: true });
  }
}

const taskPath = (lease: Lease, verb: string) => `/tasks/${encodeURIComponent(lease.taskId)}/${verb}`;
