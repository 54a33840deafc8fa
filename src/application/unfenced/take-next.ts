import type { Namespace } from '../../domain/kernel/brand.ts';
import type { Result } from '../../domain/kernel/result.ts';
import { err, ok } from '../../domain/kernel/result.ts';
import type { LeasedTask } from '../../ports/engine-store.ts';
import type { ApplicationError } from '../application-error.ts';
import { Batcher } from '../batcher.ts';
import type { LeaseTasks } from '../lease-tasks.ts';
import type { ParkedPolls } from '../parked-polls.ts';
import type { ReleaseLeases } from '../release-leases.ts';
import type { LeaseCall } from '../use-cases.ts';

type Deps = Readonly<{
  leases: LeaseTasks;
  polls: ParkedPolls;
  release: ReleaseLeases;
}>;

/** Who wants the next task of a queue. */
export type NextCall = Readonly<{ namespace: Namespace; queue: string; workerId: string; signal: AbortSignal }>;

type Taken = Result<LeasedTask | undefined, ApplicationError>;

/** Calls that one lease answers, and how many such leases run at a time. */
const TAKEN_TOGETHER_MAX = 100;
const FLIGHTS_MAX = 2;

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
    const { polls, leases, release } = this.deps;
    const poll = polls.enter(pollOf(call));
    // It did not look before it came: nobody may take its waiting for an empty queue.
    poll.wakeUp();
    const isWanted = await work().catch(async (error: unknown) => {
      await release.release(await polls.leave(poll));
      throw error;
    });
    const handed = await polls.leave(poll);
    // What was leased on the way is the worker's, unless its call fails: then somebody else has to get it.
    if (!isWanted.ok) {
      await release.release(handed);
      return isWanted;
    }
    const taken = handed.length === 0 ? ok([]) : await leases.handOver(pollOf(call), handed);
    if (!taken.ok || taken.value.length > 0) return taken.ok ? ok(taken.value[0]) : taken;
    const { namespace, queue, signal } = call;
    // Somebody looked, found nothing and waits: what comes is for whoever has waited longest.
    const isEmpty = polls.haveSeenEmpty(namespace, [queue]);
    return isWanted.value && !isEmpty && !signal.aborted ? this.take(call) : ok(undefined);
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
