import type { SequencedEvent } from '../../domain/execution/events.ts';
import { FairTurns } from '../../domain/execution/fair-turns.ts';
import type { ExecutionId, Instant, TaskId } from '../../domain/kernel/brand.ts';
import type { Clock } from '../../ports/clock.ts';
import type { TaskDefinitionRow } from '../../ports/definition-store.ts';
import { Journal } from './journal.ts';
import type { StoredLogLine } from './rows.ts';
import { createTables, type Tables } from './tables.ts';

/** Lists that only grow until they are dropped, by key; a rollback cuts off what was appended. */
export class AppendOnlyLists<K, T> {
  readonly #journal: Journal;
  readonly #lists = new Map<K, T[]>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  get(key: K): readonly T[] {
    return this.#lists.get(key) ?? [];
  }

  append(key: K, item: T): void {
    const list = this.#lists.get(key) ?? [];
    this.#lists.set(key, list);
    list.push(item);
    this.#journal.record(() => {
      list.pop();
      if (list.length === 0) this.#lists.delete(key);
    });
  }

  /** Forgets a whole list. */
  drop(key: K): void {
    const list = this.#lists.get(key);
    if (list === undefined) return;
    this.#lists.delete(key);
    this.#journal.record(() => this.#lists.set(key, list));
  }
}

/** What every part of the memory store works on. */
export type MemoryState = Readonly<{
  now(): Instant;
  /** A number above all it gave before. */
  nextOrder(): number;
  journal: Journal;
  turns: FairTurns;
  tables: Tables;
  /** Attempts of which the decide rows told that the transaction under way has claimed; it empties it at its end. */
  claimedReports: Map<ExecutionId, ReadonlySet<TaskId>>;
  events: AppendOnlyLists<ExecutionId, SequencedEvent>;
  logs: AppendOnlyLists<TaskId, StoredLogLine>;
  /** By namespace and name; written by the definition store, read for the limits of a queue. */
  taskDefinitions: Map<string, TaskDefinitionRow>;
}>;

export const createMemoryState = (clock: Clock): MemoryState => {
  const journal = new Journal();
  let order = 0;
  return {
    now: () => clock.now(),
    nextOrder: () => {
      order += 1;
      return order;
    },
    journal,
    turns: new FairTurns(),
    tables: createTables(journal),
    claimedReports: new Map(),
    events: new AppendOnlyLists(journal),
    logs: new AppendOnlyLists(journal),
    taskDefinitions: new Map(),
  };
};
