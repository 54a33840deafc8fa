import { Subject } from 'rxjs';
import type { Namespace } from '../domain/kernel/brand.ts';
import type { LeasedTask } from '../ports/engine-store.ts';
import type { LeaseCall } from './use-cases.ts';

type QueueName = Readonly<{ namespace: Namespace; queue: string }>;

const keyOf = (namespace: Namespace, queue: string): string => `${namespace}/${queue}`;

/** A poll that waits for a task. A step may lease one to it on the way: offer, write, and then hand over or withdraw. */
export class ParkedPoll {
  readonly call: LeaseCall;
  /** Emits when a task was handed over. */
  readonly handed = new Subject<void>();
  private readonly tasks: LeasedTask[] = [];
  private offered = 0;
  private isWoken = false;
  private readonly settled = new Subject<void>();

  constructor(call: LeaseCall) {
    this.call = call;
  }

  /** It was told to look again, and is as good as gone: nobody may rely on what it saw. */
  wakeUp(): void {
    this.isWoken = true;
  }

  /** Nothing has come to its queues since it, or one that it came beside, looked: this process would have been told. */
  isUndisturbed(): boolean {
    return !this.isWoken;
  }

  hasRoom(): boolean {
    return this.tasks.length + this.offered < this.call.count;
  }

  offer(): void {
    this.offered += 1;
  }

  handOver(task: LeasedTask): void {
    this.tasks.push(task);
    this.withdraw();
  }

  withdraw(): void {
    this.offered -= 1;
    if (this.offered > 0) return;
    if (this.tasks.length > 0) this.handed.next();
    this.settled.next();
  }

  /** What was handed over, once nothing of it is in the air any more. */
  async taken(): Promise<readonly LeasedTask[]> {
    while (this.offered > 0) await new Promise<void>((resolve) => this.settled.subscribe(() => resolve()));
    return this.tasks;
  }
}

/** The polls of this process that wait, by what they wait for. */
export class ParkedPolls {
  private readonly queues = new Map<string, QueueName & Readonly<{ polls: Set<ParkedPoll> }>>();
  private parked = 0;

  get size(): number {
    return this.parked;
  }

  enter(call: LeaseCall): ParkedPoll {
    const poll = new ParkedPoll(call);
    this.parked += 1;
    for (const queue of call.queues) {
      const key = keyOf(call.namespace, queue);
      const entry = this.queues.get(key) ?? { namespace: call.namespace, queue, polls: new Set() };
      entry.polls.add(poll);
      this.queues.set(key, entry);
    }
    return poll;
  }

  /** Nothing is offered to it from now on. Resolves to what was handed over before. */
  leave(poll: ParkedPoll): Promise<readonly LeasedTask[]> {
    this.parked -= 1;
    for (const queue of poll.call.queues) {
      const key = keyOf(poll.call.namespace, queue);
      const polls = this.queues.get(key)?.polls;
      polls?.delete(poll);
      if (polls?.size === 0) this.queues.delete(key);
    }
    return poll.taken();
  }

  /** The poll whose turn it is, with a place taken in it; to be handed over or withdrawn. */
  offer(namespace: Namespace, queue: string): ParkedPoll | undefined {
    const polls = this.queues.get(keyOf(namespace, queue))?.polls;
    if (polls === undefined) return undefined;
    for (const poll of polls) {
      if (!poll.hasRoom()) continue;
      // Last from now on, so that many tasks are spread over all who wait.
      polls.delete(poll);
      polls.add(poll);
      poll.offer();
      return poll;
    }
    return undefined;
  }

  /** Whether polls that wait undisturbed have seen all these queues empty, so that another look would find nothing either. */
  haveSeenEmpty(namespace: Namespace, queues: readonly string[]): boolean {
    return queues.every((queue) => {
      // Mostly the first one says so, however many wait.
      for (const poll of this.queues.get(keyOf(namespace, queue))?.polls ?? []) if (poll.isUndisturbed()) return true;
      return false;
    });
  }

  /** What polls wait for: the backstop looks for all of them at once. */
  waitedFor(): readonly QueueName[] {
    return [...this.queues.values()];
  }
}
