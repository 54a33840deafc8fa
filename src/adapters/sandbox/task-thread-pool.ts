import { Worker } from 'node:worker_threads';
import { err, type Result } from '../../domain/kernel/result.ts';
import type { TaskScriptProblem } from '../../ports/script-sandbox.ts';
import type { TaskJob, TaskReply } from './task-protocol.ts';

type Answer = Result<string, TaskScriptProblem>;

type PendingJob = Readonly<{
  job: TaskJob;
  timeoutMs: number;
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
}>;

type Thread = {
  readonly worker: Worker;
  jobsLeft: number;
  pending: PendingJob | undefined;
  timer: NodeJS.Timeout | undefined;
};

/** Jobs that may wait, for each thread. Each holds its input, up to 10 MiB. */
const QUEUED_PER_THREAD_MAX = 16;
/** jq leaks a little with each call (measured: 80 MB in 20,000), so a thread is replaced after this many jobs. */
const JOBS_PER_THREAD_MAX = 2_000;
/** Loading an interpreter takes 100 ms; a thread that takes this long is not going to start. */
const START_TIMEOUT_MS = 30_000;
/** The JavaScript heap of a thread, beside its WebAssembly memory: texts of input and output. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 } as const;

const unavailable = (message: string): Answer => err({ code: 'SANDBOX_UNAVAILABLE', message });
const limit = (message: string): Answer => err({ code: 'SCRIPT_LIMIT', message });

/** Runs jobs on a bounded number of sandbox threads, one job a thread at a time, each within its time limit. */
export class TaskThreadPool {
  readonly #threadsMax: number;
  readonly #threads = new Set<Thread>();
  readonly #queue: PendingJob[] = [];
  #isClosed = false;

  constructor(threadsMax: number) {
    this.#threadsMax = threadsMax;
  }

  /**
   * Runs one job. Answers SCRIPT_LIMIT when it takes longer than `timeoutMs`, waiting for a thread not counted, and
   * SANDBOX_UNAVAILABLE when too many jobs wait or the pool is closed. Rejects when a thread cannot do its work at all.
   */
  run(job: TaskJob, timeoutMs: number): Promise<Answer> {
    if (this.#isClosed) return Promise.resolve(unavailable('the sandbox is closed'));
    if (this.#queue.length >= this.#threadsMax * QUEUED_PER_THREAD_MAX) {
      return Promise.resolve(unavailable('too many scripts wait for the sandbox'));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ job, timeoutMs, resolve, reject });
      this.#dispatch();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const pending of this.#queue.splice(0)) pending.resolve(unavailable('the sandbox is closed'));
    await Promise.all([...this.#threads].map((thread) => this.#retire(thread, unavailable('the sandbox is closed'))));
  }

  #dispatch(): void {
    while (this.#queue.length > 0 && !this.#isClosed) {
      const thread = this.#idleThread();
      const pending = thread === undefined ? undefined : this.#queue.shift();
      if (thread === undefined || pending === undefined) return;
      this.#assign(thread, pending);
    }
  }

  #idleThread(): Thread | undefined {
    for (const thread of this.#threads) if (thread.pending === undefined) return thread;
    return this.#threads.size < this.#threadsMax ? this.#startThread() : undefined;
  }

  #startThread(): Thread {
    const worker = new Worker(new URL('./task-worker.ts', import.meta.url), {
      env: {},
      execArgv: [],
      resourceLimits: RESOURCE_LIMITS,
    });
    const thread: Thread = { worker, jobsLeft: JOBS_PER_THREAD_MAX, pending: undefined, timer: undefined };
    worker.on('message', (reply: TaskReply) => this.#onReply(thread, reply));
    worker.on('error', (error: NodeJS.ErrnoException) => this.#onError(thread, error));
    worker.on('exit', () => this.#onError(thread, new Error('a sandbox thread ended by itself')));
    this.#threads.add(thread);
    return thread;
  }

  #assign(thread: Thread, pending: PendingJob): void {
    thread.pending = pending;
    thread.worker.ref();
    thread.worker.postMessage(pending.job);
    thread.timer = setTimeout(
      () => this.#onError(thread, new Error(`a sandbox thread did not start within ${START_TIMEOUT_MS} ms`)),
      START_TIMEOUT_MS,
    );
  }

  #onReply(thread: Thread, reply: TaskReply): void {
    const { pending } = thread;
    if (pending === undefined) return;
    if (reply.kind === 'started') this.#startClock(thread, pending);
    else this.#onDone(thread, reply.result, reply.isSpent);
  }

  #startClock(thread: Thread, pending: PendingJob): void {
    clearTimeout(thread.timer);
    const answer = limit(`the script took longer than ${pending.timeoutMs} ms`);
    thread.timer = setTimeout(() => {
      void this.#retire(thread, answer);
      this.#dispatch();
    }, pending.timeoutMs);
  }

  #onDone(thread: Thread, answer: Answer, isSpent: boolean): void {
    thread.jobsLeft -= 1;
    if (isSpent || thread.jobsLeft === 0) void this.#retire(thread, answer);
    else this.#release(thread)?.resolve(answer);
    this.#dispatch();
  }

  #onError(thread: Thread, error: NodeJS.ErrnoException): void {
    if (!this.#threads.delete(thread)) return;
    const pending = this.#release(thread);
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') pending?.resolve(limit('the script needs too much memory'));
    else pending?.reject(error);
    void thread.worker.terminate();
    this.#dispatch();
  }

  /** Takes the job off a thread, which no longer keeps the process alive. */
  #release(thread: Thread): PendingJob | undefined {
    const { pending } = thread;
    clearTimeout(thread.timer);
    thread.pending = undefined;
    thread.worker.unref();
    return pending;
  }

  /** Ends a thread, whatever it is doing, with an answer for its job. */
  async #retire(thread: Thread, answer: Answer): Promise<void> {
    this.#threads.delete(thread);
    this.#release(thread)?.resolve(answer);
    await thread.worker.terminate();
  }
}
