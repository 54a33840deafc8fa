import type { RateLimit } from '../../../src/domain/definition/task-definition.ts';
import type { ExecutionId, TaskId } from '../../../src/domain/kernel/brand.ts';
import type { DefinitionStore } from '../../../src/ports/definition-store.ts';
import type { DefinitionReads, EngineTx } from '../../../src/ports/engine-store.ts';
import type { Plant } from '../plants.ts';
import type { Database } from './database.ts';
import type { Statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

export type TxMethods = EngineTx;

/** What holds the tasks of one name back. */
export type TaskLimits = Readonly<{ concurrent: number; rate: RateLimit | undefined; semaphores: readonly string[] }>;

/** What the namespaces limit, by `namespace/name`. */
export type Limits = ReadonlyMap<string, TaskLimits>;

/** What the methods of one transaction work with. */
export type Tx = Readonly<{
  database: Database;
  tx: Transaction;
  definitions: DefinitionReads & Pick<DefinitionStore, 'putBundle'>;
  limits: Limits;
  plant: Plant | undefined;
  /** As the adapter keeps it: what the claimed rows told of, and what repeated reports are told by. */
  memory: Readonly<{ reported: Map<ExecutionId, ReadonlySet<number>>; reportHashes: Map<TaskId, string> }>;
  /** For a planted mistake: decide rows that go when the transaction ends. */
  deleteAtEnd: ExecutionId[];
  /** No statement has run yet. */
  isFresh: boolean;
  run<T>(label: string, body: (statement: Statement) => T | Promise<T>): Promise<T>;
}>;
