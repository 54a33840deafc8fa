import { runStartedBy } from '../../../src/application/start-in-transaction.ts';
import type { Instant } from '../../../src/domain/kernel/brand.ts';
import type { Database } from '../store/database.ts';
import type { OutboxRow } from '../store/rows.ts';
import type { Violations } from './violation.ts';

/** 11, 12: a message goes when it has had its effect, and not before those that came before it. */
export class OutboxWatch {
  private readonly database: Database;
  private readonly violations: Violations;

  constructor(database: Database, violations: Violations) {
    this.database = database;
    this.violations = violations;
  }

  changed(before: OutboxRow | undefined, after: OutboxRow | undefined): void {
    if (before !== undefined && after === undefined) this.checkEffect(before);
    const isTaken = before !== undefined && after !== undefined && before.attempts === after.attempts;
    if (isTaken && before.availableAt !== after.availableAt) this.checkOrder(after);
  }

  private checkEffect({ topic, dedupKey, executionId, payload }: OutboxRow): void {
    if (topic !== 'start-failure-workflow') return;
    const started = runStartedBy(payload.at as Instant, executionId, dedupKey);
    if (this.database.tables.executions.find(started)?.committed !== undefined) return;
    this.violations.add('11', `the message ${dedupKey} is gone and had no effect`);
  }

  private checkOrder(taken: OutboxRow): void {
    for (const row of this.database.tables.outbox.committed()) {
      const isBefore = row.orderingKey === taken.orderingKey && row.id < taken.id && row.deadAt === undefined;
      if (isBefore) this.violations.add('11', `the message ${taken.id} was taken before ${row.id}`);
    }
  }
}
