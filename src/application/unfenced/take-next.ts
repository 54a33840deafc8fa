import type { Namespace } from '../../domain/kernel/brand.ts';
import type { Result } from '../../domain/kernel/result.ts';
import { err, ok } from '../../domain/kernel/result.ts';
import type { LeasedTask } from '../../ports/engine-store.ts';
import type { WakeSignal } from '../../ports/wake-signal.ts';
import type { ApplicationError } from '../application-error.ts';
import { Batcher } from '../batcher.ts';
import type { HeldLeases } from '../held-leases.ts';
import type { LeaseTasks } from '../lease-tasks.ts';
import type { ParkedPolls } from '../parked-polls.ts';
import type { ReleaseLeases } from '../release-leases.ts';
import type { LeaseCall } from '../use-cases.ts';

type Deps = Readonly<{
  leases: LeaseTasks;
  polls: ParkedPolls;
  held: HeldLeases;
  release: ReleaseLeases;
  wake: WakeSignal;
}>;

/** Who wants the next task of a queue. */
export type NextCall = Readonly<{ namespace: Namespace; queue: string; workerId: string; signal: AbortSignal }>;

type Taken = Result<LeasedTask | undefined, ApplicationError>;

/** Calls that one lease answers, and how many such leases run at a time. */
const TAKEN_TOGETHER_MAX = 100;
const FLIGHTS_MAX = 2;

/** Leases that may end before the watch over them looks again by itself. */
const SHORT_LEASE_MS = 1_000;

const NEVER = new AbortController().signal;

/**
 * The task after the one that is being ended, without a poll in between. While the end of a task is written its worker
 * counts as one that waits, so what a run goes on with may be leased to it in the same statement; else it takes what is
 * ready. Workers of one name that ask together share one lease.
 */
export class TakeNext {
  private readonly deps: Deps;
  private readonly batcher: Batcher<NextCall, Taken>;

  constructor(deps: Deps) {
    this.deps = deps;
    this.batcher = new Batcher({
      run: (calls) => this.takeAll(calls),
      sizeMax: TAKEN_TOGETHER_MAX,
      inFlightMax: FLIGHTS_MAX,
      groupOf: ({ namespace, queue, workerId }) => JSON.stringify([namespace, queue, workerId]),
    });
  }

  /** Runs `work`, which says whether a next task is wanted, and answers with that task. */
  async whileEnding<E>(
    call: NextCall,
    work: () => Promise<Result<boolean, E>>,
  ): Promise<Result<LeasedTask | undefined, E | ApplicationError>> {
    const poll = this.deps.polls.enter(pollOf(call));
    // It did not look before it came: nobody may take its waiting for an empty queue.
    poll.wakeUp();
    let isWanted: Result<boolean, E>;
    let handed: readonly LeasedTask[] = [];
    try {
      isWanted = await work();
    } finally {
      handed = await this.deps.polls.leave(poll);
      this.remember(handed);
      if (call.signal.aborted) await this.deps.release.release(handed);
    }
    const [first] = handed;
    if (first !== undefined && !call.signal.aborted) return this.handOver(first, isWanted);
    if (!isWanted.ok) return isWanted;
    const { namespace, queue } = call;
    // Somebody looked, found nothing and waits: what comes is for whoever has waited longest.
    const isEmpty = this.deps.polls.haveSeenEmpty(namespace, [queue]);
    return isWanted.value && !isEmpty && !call.signal.aborted ? this.take(call) : ok(undefined);
  }

  /** What was leased on the way is the worker's, unless its call fails: then somebody else has to get it. */
  private async handOver<E>(task: LeasedTask, isWanted: Result<boolean, E>): Promise<Result<LeasedTask, E>> {
    if (isWanted.ok) return ok(task);
    await this.deps.release.release([task]);
    return isWanted;
  }

  private remember(handed: readonly LeasedTask[]): void {
    this.deps.held.remember(handed);
    // The watch over expired leases sleeps until the next it knows of: a short one has to tell it.
    if (handed.some(({ heartbeatMs }) => heartbeatMs <= SHORT_LEASE_MS)) this.deps.wake.publish(['timers']);
  }

  private async take(call: NextCall): Promise<Taken> {
    const taken = await this.batcher.submit(call);
    if (!taken.ok || taken.value === undefined || !call.signal.aborted) return taken;
    await this.deps.release.release([taken.value]);
    return ok(undefined);
  }

  private async takeAll(calls: readonly NextCall[]): Promise<readonly Taken[]> {
    const [first] = calls;
    if (first === undefined) return [];
    const leased = await this.deps.leases.lease({ ...pollOf(first), count: calls.length, signal: NEVER });
    return calls.map((_, place) => (leased.ok ? ok(leased.value[place]) : err(leased.error)));
  }
}

/** A call that has nothing to wait for. */
const pollOf = ({ namespace, queue, workerId, signal }: NextCall): LeaseCall => ({
  namespace,
  queues: [queue],
  workerId,
  count: 1,
  waitMs: 0,
  signal,
});
