import { withoutUndefined } from '../domain/definition/without-undefined.ts';
import type { TaskId } from '../domain/kernel/brand.ts';
import type { LeasedTask, TaskReport } from '../ports/engine-store.ts';

/** Leases remembered per process; the oldest are forgotten first. */
export const HELD_LEASES_MAX = 100_000;

export type HeldLease = Pick<
  LeasedTask,
  'ref' | 'iteration' | 'attempt' | 'queue' | 'leaseToken' | 'workerId' | 'startedAt' | 'callbacks' | 'callbackSeconds'
>;

/**
 * The leases that this process gave out: who ran an attempt and since when, which the fact that ends it tells. Only a memory:
 * whether a lease still holds is for the store to say, and a report of a lease that is not known here takes the longer road.
 */
export class HeldLeases {
  private readonly leases = new Map<TaskId, HeldLease>();

  remember(tasks: readonly LeasedTask[]): void {
    for (const { taskId, ref, iteration, attempt, queue, leaseToken, workerId, startedAt, ...rest } of tasks) {
      this.leases.delete(taskId);
      const held = { ref, iteration, attempt, queue, leaseToken, workerId, startedAt };
      const { callbacks, callbackSeconds } = rest;
      const wasPutOff = callbacks !== undefined;
      this.leases.set(taskId, wasPutOff ? withoutUndefined({ ...held, callbacks, callbackSeconds }) : held);
    }
    for (const oldest of this.leases.keys()) {
      if (this.leases.size <= HELD_LEASES_MAX) break;
      this.leases.delete(oldest);
    }
  }

  /** The lease that a report speaks of. */
  of({ taskId, leaseToken }: Pick<TaskReport, 'taskId' | 'leaseToken'>): HeldLease | undefined {
    const lease = this.leases.get(taskId);
    return lease?.leaseToken === leaseToken ? lease : undefined;
  }

  /** The lease of an attempt that was given out last, for a caller who knows no token. */
  last(taskId: TaskId): HeldLease | undefined {
    return this.leases.get(taskId);
  }

  forget(taskId: TaskId): void {
    this.leases.delete(taskId);
  }

  get size(): number {
    return this.leases.size;
  }
}
