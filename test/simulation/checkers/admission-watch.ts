import { isClosedExecution } from '../../../src/domain/execution/statuses.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { FAILURE_WORKFLOW } from '../generator.ts';
import type { Database } from '../store/database.ts';
import type { AdmissionRow } from '../store/rows.ts';
import { placeKey } from '../store/statements/admissions.ts';
import type { RunWatch } from './run-watch.ts';
import type { Violations } from './violation.ts';

export type AdmissionWatchDeps = Readonly<{
  database: Database;
  violations: Violations;
  watch: (run: string) => RunWatch;
  /** Tasks for workers and servers that one run may have open; 0: any number. */
  tasksMax: number;
}>;

/** 25: no more runs than a limit lets in, in the order in which they came, and an end gives its place back. */
export class AdmissionWatch {
  private readonly deps: AdmissionWatchDeps;
  /** Runs that could not be let in when it was their turn: whether they were due again is a matter of when a statement looked. */
  private readonly postponed = new Set<string>();

  constructor(deps: AdmissionWatchDeps) {
    this.deps = deps;
  }

  private broken(text: string): void {
    this.deps.violations.add('25', text);
  }

  changed(before: AdmissionRow | undefined, after: AdmissionRow | undefined): void {
    if (after === undefined) return;
    if (before !== undefined && before.notBefore !== after.notBefore) this.postponed.add(after.executionId);
    const place = placeKey(after);
    const all = [...this.deps.database.tables.admissions.committed()].filter((row) => placeKey(row) === place);
    const held = all.filter((row) => row.admitted).length;
    if (held > after.runsMax) this.broken(`${held} runs are at ${place} and ${after.runsMax} may be`);
    if (before?.admitted === false && after.admitted) this.checkOrder(after, all);
  }

  /** Whoever was paused, or postponed, is passed by. */
  private checkOrder(admitted: AdmissionRow, all: readonly AdmissionRow[]): void {
    for (const row of all) {
      const isBefore = !row.admitted && row.position < admitted.position;
      const wasHeldUp = this.deps.watch(row.executionId).wasPaused || this.postponed.has(row.executionId);
      if (isBefore && !wasHeldUp) this.broken(`${admitted.executionId} was let in before ${row.executionId}`);
    }
  }

  /** After each commit that touched the run. */
  checkRun(run: ExecutionId): void {
    const { database, tasksMax } = this.deps;
    const row = database.tables.executions.find(run)?.committed;
    if (tasksMax > 0 && row !== undefined && row.name !== FAILURE_WORKFLOW) this.checkTasks(run, tasksMax);
    const places = database.tables.admissions.committedOf(run);
    if (row === undefined || places.length === 0) return;
    if (isClosedExecution(row.status)) this.broken(`${run} has ended and keeps a place`);
    const isQueued = places.some((place) => !place.admitted);
    const open = database.tables.taskQueue.committedOf(run).length;
    if (isQueued && open > 0) this.broken(`${run} awaits its admission and has ${open} open tasks`);
  }

  private checkTasks(run: ExecutionId, tasksMax: number): void {
    const open = this.deps.database.tables.taskQueue.committedOf(run);
    const count = open.filter(({ task }) => task.family !== 'waiting').length;
    if (count > tasksMax) this.broken(`${run} has ${count} tasks open and ${tasksMax} may be`);
  }

  /** After each commit that touched a run: the quota of its namespace. */
  checkQuota(): void {
    const { quotas, executions } = this.deps.database.tables;
    for (const { namespace, concurrentMax } of quotas.committed()) {
      if (concurrentMax === undefined) continue;
      let going = 0;
      for (const row of executions.committed()) if (!isClosedExecution(row.status)) going += 1;
      if (going > concurrentMax) this.broken(`${going} runs go in ${namespace} and ${concurrentMax} may`);
    }
  }
}
