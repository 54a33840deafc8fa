import type { Namespace } from '../domain/kernel/brand.ts';
import type { IdempotencyClaim, NewExecution, RunStep } from './engine-store.ts';

/** What was known of the definitions that a start pins. It holds as long as another look would find the same. */
export type PinnedDefinition = Readonly<{
  namespace: Namespace;
  name: string;
  /** The version that was asked for; absent: the highest. */
  version?: number;
  found: Readonly<{ version: number; hash: string }>;
  /** The task definitions that it names: the hash of the content of each, or that there is none. */
  tasks: readonly Readonly<{ name: string; contentHash?: string }>[];
}>;

/** A run with its first step, decided from definitions that may have changed since: put on record whole or not at all. */
export type RunStart = Readonly<{
  execution: NewExecution;
  pinned: PinnedDefinition;
  claim?: IdempotencyClaim;
  /** Without reports and without a projection: the run stays open. */
  step: RunStep;
}>;
