import type { WorkerProblem } from './contracts.ts';
import type { Lease, WorkerApi } from './worker-api.ts';

const LINES_PER_CALL_MAX = 500;
/** The server takes 1 MiB, and JSON may need six bytes for a character. */
const CHARS_PER_CALL_MAX = 150_000;
const LINE_CHARS_MAX = 16_384;
/** Lines waiting beyond this are dropped, oldest first: a log must not eat the worker. */
const LINES_WAITING_MAX = 10_000;

/** Log lines of one attempt: those that arrive while a call is under way share the next one. */
export class TaskLog {
  private readonly api: WorkerApi;
  private readonly lease: Lease;
  private readonly onProblem: (problem: WorkerProblem) => void;
  private waiting: string[] = [];
  private sending: Promise<void> | undefined;

  constructor(api: WorkerApi, lease: Lease, onProblem: (problem: WorkerProblem) => void) {
    this.api = api;
    this.lease = lease;
    this.onProblem = onProblem;
  }

  add(line: string): void {
    this.waiting.push(String(line).slice(0, LINE_CHARS_MAX));
    if (this.waiting.length > LINES_WAITING_MAX) this.waiting.shift();
    this.sending ??= this.drain();
  }

  /** Resolves when no line waits any more; never rejects. */
  async flush(): Promise<void> {
    await this.sending;
  }

  private takeLines(): string[] {
    const lines: string[] = [];
    let chars = 0;
    for (const line of this.waiting) {
      chars += line.length;
      if (lines.length === LINES_PER_CALL_MAX || (lines.length > 0 && chars > CHARS_PER_CALL_MAX)) break;
      lines.push(line);
    }
    this.waiting.splice(0, lines.length);
    return lines;
  }

  private async drain(): Promise<void> {
    // Lines of one turn of the event loop travel together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiting.length > 0) {
      const lines = this.takeLines();
      try {
        await this.api.log(this.lease, lines);
      } catch (error) {
        const problem = error instanceof Error ? error : new Error(String(error));
        this.onProblem({ during: 'log', taskId: this.lease.taskId, error: problem });
        this.waiting = [];
      }
    }
    this.sending = undefined;
  }
}
