import { runStartedBy } from '../../../src/application/start-in-transaction.ts';
import type { Instant } from '../../../src/domain/kernel/brand.ts';
import type { Database } from '../store/database.ts';
import type { OutboxRow } from '../store/rows.ts';
import type { ChildWatch } from './child-watch.ts';
import type { Violations } from './violation.ts';

/** A statement that failed tells its SQLSTATE first. */
const OF_THE_DATABASE = /^[0-9A-Z]{5}: /;

/** 11, 12: a message goes when it has had its effect, and not before those that came before it. */
export class OutboxWatch {
  private readonly database: Database;
  private readonly violations: Violations;
  private readonly children: ChildWatch;

  constructor(database: Database, violations: Violations, children: ChildWatch) {
    this.database = database;
    this.children = children;
    this.violations = violations;
  }

  changed(before: OutboxRow | undefined, after: OutboxRow | undefined): void {
    if (before !== undefined && after === undefined) this.checkEffect(before);
    if (before !== undefined && after !== undefined && before.attempts < after.attempts) this.checkFailure(after);
    const isTaken = before !== undefined && after !== undefined && before.attempts === after.attempts;
    if (isTaken && before.availableAt !== after.availableAt) this.checkOrder(after);
  }

  private checkEffect(row: OutboxRow): void {
    const { topic, dedupKey, executionId, payload } = row;
    if (topic !== 'start-failure-workflow') return this.children.delivered(row);
    const started = runStartedBy(payload.at as Instant, executionId, dedupKey);
    if (this.database.tables.executions.find(started)?.committed !== undefined) return;
    this.violations.add('11', `the message ${dedupKey} is gone and had no effect`);
  }

  /** A delivery may fail with the database. Anything else would fail again. */
  private checkFailure({ topic, dedupKey, lastFailure = '' }: OutboxRow): void {
    if (OF_THE_DATABASE.test(lastFailure)) return;
    this.violations.add('defect', `${topic} ${dedupKey} could not be delivered: ${lastFailure}`);
  }

  /** What one run sends of one matter. What two send at the same time has no order. */
  private checkOrder(taken: OutboxRow): void {
    for (const row of this.database.tables.outbox.committed()) {
      const isOfSame = row.orderingKey === taken.orderingKey && row.executionId === taken.executionId;
      const isBefore = isOfSame && row.id < taken.id && row.deadAt === undefined;
      if (isBefore) this.violations.add('11', `the message ${taken.id} was taken before ${row.id}`);
    }
  }
}
