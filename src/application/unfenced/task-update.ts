import type { ResultStatus } from '../../domain/execution/statuses.ts';
import type { TaskId } from '../../domain/kernel/brand.ts';
import type { JsonObject } from '../../domain/kernel/json.ts';

/** What somebody says of an attempt whose id is known, and no lease token. */
export type TaskUpdate = Readonly<{
  taskId: TaskId;
  /** Who says so; absent: nobody that a lease could be of. */
  workerId?: string;
  status: ResultStatus | 'IN_PROGRESS';
  output: JsonObject;
  reason?: string;
  /** IN_PROGRESS: the attempt is to be looked at again after so many seconds. */
  afterSeconds: number;
  /** IN_PROGRESS: it is still being worked on, and the lease goes on. */
  extendsLease: boolean;
  logs: readonly string[];
}>;

/**
 * `done`: it is on record. `ignored`: the attempt has ended, or another worker holds it by now, and nothing was changed.
 * `queue`: where the attempt stood, if it is over with this.
 */
export type UpdateAnswer = Readonly<{ kind: 'done'; queue?: string } | { kind: 'ignored' }>;
