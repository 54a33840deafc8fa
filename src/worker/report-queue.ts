import { type Backoff, backoffMs, pause } from '../client/backoff.ts';
import { ApiError, isTransient } from '../client/client-error.ts';
import type { WorkerProblem } from './contracts.ts';
import type { ReportAnswer, WorkerApi } from './worker-api.ts';

const REPORTS_PER_CALL_MAX = 100;
/** A call carries at least one report and no more than this beside it. */
const CALL_CHARS_MAX = 1024 * 1024;
const BACKOFF: Backoff = { baseMs: 100, capMs: 10_000 };

/** `settled`, or refused for good with the code of the server; `undelivered`: the worker stopped first. */
export type Delivery =
  | Readonly<{ kind: 'settled' }>
  | Readonly<{ kind: 'refused'; code: string; message: string }>
  | Readonly<{ kind: 'undelivered' }>;

type Waiting = Readonly<{ taskId: string; json: string; signal: AbortSignal; resolve: (delivery: Delivery) => void }>;

/**
 * Delivers results. One call is under way at a time; reports that become ready meanwhile share the next one, so an idle
 * worker reports at once and a busy one in batches. While the server is away it repeats, with jittered back-off.
 */
export class ReportQueue {
  private readonly api: WorkerApi;
  private readonly onProblem: (problem: WorkerProblem) => void;
  private readonly closing = new AbortController();
  private waiting: Waiting[] = [];
  private draining = false;

  constructor(api: WorkerApi, onProblem: (problem: WorkerProblem) => void) {
    this.api = api;
    this.onProblem = onProblem;
  }

  /** `json` is the report as JSON text; a signal that aborts before delivery withdraws it. Never rejects. */
  deliver(taskId: string, json: string, signal: AbortSignal): Promise<Delivery> {
    return new Promise((resolve) => {
      this.waiting.push({ taskId, json, signal, resolve });
      if (!this.draining) void this.drain();
    });
  }

  /** Gives up on what is not delivered yet. */
  close(): void {
    this.closing.abort();
  }

  private async drain(): Promise<void> {
    this.draining = true;
    // Results of one turn of the event loop travel together.
    await new Promise((resolve) => setImmediate(resolve));
    let failures = 0;
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      if (batch.length === 0) continue;
      const repeat = await this.send(batch);
      failures = repeat ? failures + 1 : 0;
      if (!repeat) continue;
      this.waiting.unshift(...batch);
      await pause(backoffMs(failures, BACKOFF), this.closing.signal);
    }
    this.draining = false;
  }

  private takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    let chars = 0;
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      const withdrawn = next.signal.aborted || this.closing.signal.aborted;
      if (!withdrawn && batch.length > 0 && chars + next.json.length > CALL_CHARS_MAX) break;
      this.waiting.shift();
      if (withdrawn) {
        next.resolve({ kind: 'undelivered' });
        continue;
      }
      batch.push(next);
      chars += next.json.length;
      if (batch.length === REPORTS_PER_CALL_MAX) break;
    }
    return batch;
  }

  /** True when the batch is to be sent again. */
  private async send(batch: readonly Waiting[]): Promise<boolean> {
    try {
      const answers = await this.api.report(
        batch.map(({ json }) => json),
        this.closing.signal,
      );
      answer(batch, answers);
      return false;
    } catch (error) {
      if (this.closing.signal.aborted) return true;
      this.onProblem({ during: 'report', error: error instanceof Error ? error : new Error(String(error)) });
      if (isTransient(error)) return true;
      await this.sendApart(batch, error);
      return false;
    }
  }

  /** The server refused the call as a whole: find the report it meant, so that the others do not suffer. */
  private async sendApart(batch: readonly Waiting[], error: unknown): Promise<void> {
    const [first, second] = batch;
    if (first !== undefined && second === undefined) {
      const code = error instanceof ApiError ? error.code : 'REFUSED';
      first.resolve({ kind: 'refused', code, message: error instanceof Error ? error.message : String(error) });
      return;
    }
    for (const one of batch) {
      if (await this.send([one])) this.waiting.push(one);
    }
  }
}

const UNANSWERED = { error: 'INVALID_RESPONSE', message: 'the server did not answer this report' };

const answer = (batch: readonly Waiting[], answers: readonly ReportAnswer[]): void => {
  for (const [index, { resolve }] of batch.entries()) {
    const given = answers[index];
    if (given?.status === 'settled') {
      resolve({ kind: 'settled' });
      continue;
    }
    const { error, message } = given ?? UNANSWERED;
    resolve({ kind: 'refused', code: error, message });
  }
};
