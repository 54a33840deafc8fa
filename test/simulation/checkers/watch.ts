import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { Change, Database } from '../store/database.ts';
import type { AdmissionRow, OutboxRow, QueueRow } from '../store/rows.ts';
import type { Limits } from '../store/session.ts';
import { AdmissionWatch } from './admission-watch.ts';
import { ChildWatch } from './child-watch.ts';
import { DoorWatch } from './door-watch.ts';
import { Intents, LeaseWatch } from './lease-watch.ts';
import { OutboxWatch } from './outbox-watch.ts';
import { type Coverage, RunWatch } from './run-watch.ts';
import type { Violations } from './violation.ts';

export type WatchDeps = Readonly<{
  database: Database;
  violations: Violations;
  sometimes: Set<string>;
  limits: Limits;
  tasksMax: number;
}>;

/** A report that was taken and closed in one commit. */
const isStep = ({ table, before, after }: Change): boolean => {
  if (table !== 'task_queue' || after !== undefined) return false;
  const row = before as QueueRow;
  return row.leaseToken !== undefined && row.outcome === undefined;
};

/** Looks at every commit: at what changed, and at every run that it touched. */
export class Watch {
  readonly intents = new Intents();
  readonly coverage: Coverage = new Map();
  readonly doors: DoorWatch;
  private readonly deps: WatchDeps;
  private readonly runs = new Map<string, RunWatch>();
  private readonly children: ChildWatch;
  private readonly admissions: AdmissionWatch;
  private readonly leases: LeaseWatch;
  private readonly outbox: OutboxWatch;

  constructor(deps: WatchDeps) {
    this.deps = deps;
    const { database, violations, limits, tasksMax } = deps;
    this.admissions = new AdmissionWatch({ database, violations, watch: this.of, tasksMax });
    this.doors = new DoorWatch(database, violations);
    this.children = new ChildWatch({ database, violations, watch: this.of });
    const { children, intents } = this;
    this.leases = new LeaseWatch({ database, intents, violations, children, limits });
    this.outbox = new OutboxWatch(database, violations, children);
  }

  readonly of = (run: string): RunWatch => {
    const known = this.runs.get(run);
    if (known !== undefined) return known;
    const { database, violations } = this.deps;
    const onLeft = this.children.left;
    const made = new RunWatch(run as ExecutionId, { database, violations, coverage: this.coverage, onLeft });
    this.runs.set(run, made);
    return made;
  };

  committed(changes: readonly Change[]): void {
    const runs = new Set<string>();
    for (const change of changes) {
      runs.add(change.run);
      if (isStep(change)) this.deps.sometimes.add('short road taken');
    }
    // First the runs: what else is looked at may ask what they are by now.
    for (const run of runs) {
      this.of(run).check();
      this.admissions.checkRun(run as ExecutionId);
    }
    if (changes.some(({ table }) => table === 'workflow_executions')) this.admissions.checkQuota();
    for (const change of changes) this.look(change);
  }

  private look({ table, before, after }: Change): void {
    if (table === 'outbox_events') this.outbox.changed(before as OutboxRow | undefined, after as OutboxRow | undefined);
    if (table === 'execution_admissions')
      this.admissions.changed(before as AdmissionRow | undefined, after as AdmissionRow | undefined);
    if (table !== 'task_queue') return;
    if (after !== undefined) this.leases.changed(before as QueueRow | undefined, after as QueueRow);
    else this.leases.gone(before as QueueRow);
  }
}
