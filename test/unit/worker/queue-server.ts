import { type Answer, type Call, FakeServer, ok, refuse } from './fake-server.ts';

export type Report = Readonly<{ taskId: string; leaseToken: string; status: string; output: object; reason?: string }>;

/** A fake server with a queue: hands tasks out, parks polls, keeps what is reported. */
export class QueueServer extends FakeServer {
  readonly reports: Report[] = [];
  /** Overrides by the end of the path; undefined falls through. */
  readonly overrides = new Map<string, (call: Call) => Answer | undefined | Promise<Answer | undefined>>();
  private readonly queue: object[] = [];
  private parked: { count: number; answer: (answer: Answer) => void } | undefined;
  private made = 0;

  constructor() {
    super((call) => this.answer(call));
  }

  /** Puts tasks on the queue; a parked poll gets them at once. */
  add(taskName: string, inputs: readonly unknown[], leaseMs = 60_000): string[] {
    const ids = inputs.map((input) => {
      this.made += 1;
      const taskId = `run.${this.made}`;
      this.queue.push({
        taskId,
        workflowId: 'run',
        taskRef: taskName,
        taskName,
        iteration: 0,
        attempt: 1,
        leaseToken: `token-${this.made}`,
        leaseExpiresAt: new Date(Date.now() + leaseMs).toISOString(),
        input,
      });
      return taskId;
    });
    const parked = this.parked;
    this.parked = undefined;
    parked?.answer(ok({ tasks: this.queue.splice(0, parked.count) }));
    return ids;
  }

  private async answer(call: Call): Promise<Answer | undefined> {
    for (const [ending, override] of this.overrides) {
      if (!call.path.endsWith(ending)) continue;
      const answer = await override(call);
      if (answer !== undefined) return answer;
    }
    if (call.path.endsWith('/lease')) return this.lease(Number(call.body.count));
    if (call.path.endsWith('/tasks/report')) return this.report(call.body.reports as Report[]);
    if (/\/(heartbeat|logs|release)$/.test(call.path)) return ok({});
    return refuse(404, 'NOT_FOUND');
  }

  private lease(count: number): Promise<Answer> | Answer {
    if (this.queue.length > 0) return ok({ tasks: this.queue.splice(0, count) });
    return new Promise((answer) => {
      this.parked = { count, answer };
    });
  }

  private report(reports: Report[]): Answer {
    this.reports.push(...reports);
    this.changes.emit('change');
    return ok({ answers: reports.map(({ taskId }) => ({ taskId, status: 'settled', repeated: false })) });
  }
}
