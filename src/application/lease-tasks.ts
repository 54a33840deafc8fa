import { firstValueFrom, fromEvent, merge, timer } from 'rxjs';
import { take } from 'rxjs/operators';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { EngineStore, LeasedTask, LeaseRequest } from '../ports/engine-store.ts';
import type { Ids } from '../ports/ids.ts';
import { queueTopic, type WakeSignal, type WakeTopic } from '../ports/wake-signal.ts';
import type { ApplicationError } from './application-error.ts';
import { Batcher } from './batcher.ts';
import type { DomainPolls } from './domain-polls.ts';
import type { HeldLeases } from './held-leases.ts';
import type { ParkedPoll, ParkedPolls } from './parked-polls.ts';
import type { ReleaseLeases } from './release-leases.ts';
import type { LeaseCall } from './use-cases.ts';
import type { FillSecrets } from './values/fill-secrets.ts';
import type { WorkerRegistry } from './worker-registry.ts';

export type LeaseDeps = Readonly<{
  engine: EngineStore;
  wake: WakeSignal;
  ids: Ids;
  release: ReleaseLeases;
  workers: WorkerRegistry;
  polls: ParkedPolls;
  held: HeldLeases;
  secrets: FillSecrets;
  domains: DomainPolls;
}>;

/** Polls that one transaction answers, and how many such transactions run at a time. */
const LEASE_BATCH_MAX = 50;
const LEASE_FLIGHTS_MAX = 2;
/** Leases that may end before the watch over them looks again by itself. */
const SHORT_LEASE_MS = 1_000;
/** Polls parked at a time in one process. */
export const PARKED_POLLS_MAX = 20_000;

/**
 * The long poll. A poll that finds nothing is parked and costs no query: it is subscribed before it reads, and woken by
 * a local signal, a hint from another process or the backstop that looks for all parked polls at once. Or it is handed a
 * task that a step of a run leased to it on the way. One that comes while others wait for the same queues is parked beside
 * them without a look: what it would find, they would have been woken for.
 */
export class LeaseTasks {
  private readonly deps: LeaseDeps;
  private readonly batcher: Batcher<LeaseRequest, readonly LeasedTask[]>;

  constructor(deps: LeaseDeps) {
    this.deps = deps;
    this.batcher = new Batcher({
      run: (requests) => this.leaseAll(requests),
      sizeMax: LEASE_BATCH_MAX,
      inFlightMax: LEASE_FLIGHTS_MAX,
      // In one transaction for several queues their limits would be locked in the order of the polls: a deadlock.
      groupOf: ({ namespace, queues }) => `${namespace}/${queues.join(',')}`,
    });
  }

  /** Leases up to `count` tasks, waiting for the first. Errors: LIMIT_EXCEEDED when too many polls are parked. */
  async lease(call: LeaseCall): Promise<Result<readonly LeasedTask[], ApplicationError>> {
    for (const queue of call.queues) this.deps.workers.seen(call.namespace, queue, call.workerId);
    await this.deps.domains.note(call.namespace, call.queues);
    const deadline = performance.now() + call.waitMs;
    const topics = call.queues.map((queue) => queueTopic(call.namespace, queue));
    let woken = false;
    let parked: ParkedPoll | undefined;
    // At once, not when the poll has left its place: another one may come in between and must not rely on it.
    const subscription = merge(...topics.map((topic) => this.deps.wake.on(topic))).subscribe(() => {
      woken = true;
      parked?.wakeUp();
    });
    let needsLook = call.waitMs <= 0 || !this.deps.polls.haveSeenEmpty(call.namespace, call.queues);
    try {
      for (;;) {
        woken = false;
        const tasks = needsLook ? await this.leaseOnce(call) : [];
        if (tasks.length > 0) return this.handOver(call, tasks);
        const leftMs = deadline - performance.now();
        if (leftMs <= 0 || call.signal.aborted) return ok([]);
        if (this.deps.polls.size >= PARKED_POLLS_MAX) {
          return err({ code: 'LIMIT_EXCEEDED', message: `More than ${PARKED_POLLS_MAX} polls are parked.` });
        }
        if (!woken) {
          parked = this.deps.polls.enter(call);
          const handed = await this.stay(parked, topics, leftMs);
          parked = undefined;
          if (handed.length > 0) return this.handOver(call, handed);
        }
        needsLook = true;
        // Nobody is there to take what another look would lease.
        if (call.signal.aborted) return ok([]);
      }
    } finally {
      subscription.unsubscribe();
    }
  }

  private async stay(poll: ParkedPoll, topics: readonly WakeTopic[], leftMs: number): Promise<readonly LeasedTask[]> {
    await firstValueFrom(
      merge(
        timer(leftMs),
        fromEvent(poll.call.signal, 'abort'),
        poll.handed,
        ...topics.map((topic) => this.deps.wake.on(topic)),
      ).pipe(take(1)),
    );
    return this.deps.polls.leave(poll);
  }

  /**
   * Gives leased tasks to who polled, or would have. If the client went away while its tasks were leased, they are given back at
   * once and count no attempt.
   */
  async handOver(
    call: LeaseCall,
    tasks: readonly LeasedTask[],
  ): Promise<Result<readonly LeasedTask[], ApplicationError>> {
    this.deps.held.remember(tasks);
    // The watch over expired leases sleeps until the next it knows of: a short one has to tell it.
    if (tasks.some((task) => task.leaseExpiresAt - task.startedAt <= SHORT_LEASE_MS))
      this.deps.wake.publish(['timers']);
    const handed = await this.filled(tasks);
    if (!call.signal.aborted) return ok(handed);
    await this.deps.release.release(handed);
    return ok([]);
  }

  /** Nobody would hear of these leases if their secrets cannot be looked up. */
  private async filled(tasks: readonly LeasedTask[]): Promise<readonly LeasedTask[]> {
    try {
      return await this.deps.secrets.fillAll(tasks);
    } catch (error) {
      await this.deps.release.release(tasks);
      throw error;
    }
  }

  private leaseOnce(call: LeaseCall): Promise<readonly LeasedTask[]> {
    return this.batcher.submit({
      namespace: call.namespace,
      queues: call.queues,
      workerId: call.workerId,
      count: call.count,
      tokens: Array.from({ length: call.count }, () => this.deps.ids.leaseToken()),
      ...(call.leaseMs === undefined ? {} : { leaseMs: call.leaseMs }),
    });
  }

  private async leaseAll(requests: readonly LeaseRequest[]): Promise<readonly (readonly LeasedTask[])[]> {
    const answers: (readonly LeasedTask[])[] = [];
    // All ask for the same queues: once these are empty, the others need not look for themselves.
    let isEmpty = false;
    for (const request of requests) {
      const tasks: readonly LeasedTask[] = isEmpty ? [] : await this.deps.engine.leaseTasks(request);
      isEmpty ||= tasks.length < request.count;
      answers.push(tasks);
    }
    return answers;
  }
}
