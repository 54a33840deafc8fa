import type { Instant, Namespace, TaskId } from '../domain/kernel/brand.ts';
import type { EnqueueTask, LeasedTask, OpenedTask } from '../ports/engine-store.ts';
import type { Ids } from '../ports/ids.ts';
import type { ParkedPoll, ParkedPolls } from './parked-polls.ts';

type Offer = Readonly<{ taskId: TaskId; poll: ParkedPoll }>;

/** The leases that one step of a run offers to polls which wait for what it opens. To be settled once, whatever happens. */
export class Offers {
  private readonly polls: ParkedPolls;
  private readonly ids: Ids;
  private readonly made: Offer[] = [];

  constructor(polls: ParkedPolls, ids: Ids) {
    this.polls = polls;
    this.ids = ids;
  }

  /** A lease for a poll that waits for this very task. One that would arm a timer is left to the lease itself. */
  leaseFor(namespace: Namespace, task: EnqueueTask, now: Instant): OpenedTask['lease'] {
    if (task.family !== 'worker' || task.visibleAt > now || task.startToCloseMs > 0) return undefined;
    const poll = this.polls.offer(namespace, task.queue);
    if (poll === undefined) return undefined;
    this.made.push({ taskId: task.taskId, poll });
    const { workerId, leaseMs } = poll.call;
    const lease = { leaseToken: this.ids.leaseToken(), workerId };
    return leaseMs === undefined ? lease : { ...lease, leaseMs };
  }

  /** Hands over what was leased, and gives the other places back. */
  settle(leased: ReadonlyMap<TaskId, LeasedTask>): void {
    for (const { taskId, poll } of this.made) {
      const task = leased.get(taskId);
      if (task === undefined) poll.withdraw();
      else poll.handOver(task);
    }
  }
}
