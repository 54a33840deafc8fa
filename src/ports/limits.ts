import type { Instant, Namespace } from '../domain/kernel/brand.ts';

/** A named number of permits of a namespace. */
export type Semaphore = Readonly<{ name: string; permits: number; createdAt: Instant; updatedAt: Instant }>;

/** With the permits that leases hold now: more than there are, when they were made fewer meanwhile. */
export type SemaphoreUse = Semaphore & Readonly<{ held: number }>;

export interface SemaphoreStore {
  /** Sets how many permits there are. Who holds one keeps it. */
  putSemaphore(
    namespace: Namespace,
    name: string,
    permits: number,
  ): Promise<Readonly<{ outcome: 'created' | 'unchanged' | 'replaced'; semaphore: SemaphoreUse }>>;
  findSemaphore(namespace: Namespace, name: string): Promise<SemaphoreUse | undefined>;
  /** By name. */
  listSemaphores(
    namespace: Namespace,
    page: Readonly<{ limit: number; after?: string }>,
  ): Promise<readonly SemaphoreUse[]>;
  /** A name without a semaphore holds nothing back. False: there was none. */
  deleteSemaphore(namespace: Namespace, name: string): Promise<boolean>;
}

/** Closed attempts of a task, and how many of them are followed by a retry. */
export type RetryCount = Readonly<{ namespace: Namespace; taskName: string; attempts: number; retries: number }>;

/** What stands in the way of the tasks of one name, as far as the store knows: the live state of its limits. */
export type TaskGates = Readonly<{
  taskName: string;
  concurrency?: Readonly<{ limit: number; leased: number }>;
  rate?: Readonly<{ limit: number; used: number; opensAt?: Instant }>;
  semaphores: readonly Readonly<{ name: string; permits: number; held: number }>[];
}>;
