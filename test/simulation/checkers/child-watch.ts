import { isClosedExecution } from '../../../src/domain/execution/statuses.ts';
import { type ExecutionId, parseTaskId, type TaskId, taskIdOf } from '../../../src/domain/kernel/brand.ts';
import { canonicalJson } from '../../../src/domain/kernel/canonical-json.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/domain/kernel/json.ts';
import type { Database } from '../store/database.ts';
import { type OutboxRow, type OutcomeColumns, type QueueRow, queueKey } from '../store/rows.ts';
import type { RunWatch } from './run-watch.ts';
import type { Violations } from './violation.ts';

export type ChildWatchDeps = Readonly<{
  database: Database;
  violations: Violations;
  watch: (run: string) => RunWatch;
}>;

const OUTCOME_OF_END: Readonly<Record<string, string>> = {
  COMPLETED: 'COMPLETED',
  FAILED: 'FAILED',
  TIMED_OUT: 'TIMED_OUT',
  TERMINATED: 'CANCELED',
};

/** A text of a payload, at the path or at the beginning of it. */
const textAt = (payload: JsonObject, ...path: readonly string[]): string => {
  let value: JsonValue | undefined = payload;
  for (const key of path) if (isJsonObject(value ?? null)) value = (value as JsonObject)[key];
  return typeof value === 'string' ? value : '';
};

/** 22: what runs owe to their children and parents is done, once, and nothing else is. */
export class ChildWatch {
  private readonly deps: ChildWatchDeps;

  constructor(deps: ChildWatchDeps) {
    this.deps = deps;
  }

  private broken(text: string): void {
    this.deps.violations.add('22', text);
  }

  /** An attempt that waits for somebody got an outcome: of a child, that is how the child ended. */
  outcome(row: QueueRow, outcome: OutcomeColumns): void {
    if (outcome.deadline !== undefined) return;
    const taskId = taskIdOf(row.executionId, row.seq);
    const { taskType } = row.task;
    const named = outcome.output[taskType === 'SUB_WORKFLOW' ? 'subWorkflowId' : 'workflowId'];
    if (named === undefined) {
      // A start that was refused says why.
      if (outcome.status === 'COMPLETED' || outcome.reason === undefined) this.broken(`${taskId} ended without a run`);
      return;
    }
    const run = this.deps.database.tables.executions.find(String(named))?.committed;
    if (run === undefined) return this.broken(`${taskId} ended with ${named}, which was never started`);
    if (taskType === 'SUB_WORKFLOW') this.checkEnd(taskId, run.executionId, outcome);
  }

  /** What the attempt was told is how the run once ended. */
  private checkEnd(taskId: TaskId, child: ExecutionId, { status, output }: OutcomeColumns): void {
    const told = canonicalJson(output);
    const isSo = this.deps.database.tables.events.committedOf(child).some(({ event }) => {
      if (event.type !== 'ExecutionClosed' || OUTCOME_OF_END[event.status] !== status) return false;
      return canonicalJson({ ...event.output, subWorkflowId: child }) === told;
    });
    if (!isSo) this.broken(`${taskId} was told ${status} ${told}, which is no end of ${child}`);
  }

  /** A message about a child is gone: so it has had its effect. */
  delivered({ topic, executionId, payload }: OutboxRow): void {
    const child = textAt(payload, 'executionId');
    const waiting = textAt(payload, topic === 'child-ended' ? 'taskId' : 'parent', 'taskId');
    switch (topic) {
      case 'start-child':
        if (!this.hasRun(child) && !this.isDealtWith(waiting)) this.broken(`${child} was not started`);
        return;
      case 'start-workflow':
        if (!this.isDealtWith(waiting)) this.broken(`${waiting} was not told of ${child}`);
        return;
      case 'child-ended':
        if (!this.isDealtWith(waiting)) this.broken(`${waiting} was not told of the end of ${executionId}`);
        return;
      case 'resume-child':
        if (!this.isDealtWith(waiting) && this.deps.watch(child).parent?.taskId !== waiting)
          this.broken(`${child} does not go on for ${waiting}`);
        return;
      case 'terminate-child':
        return this.checkTerminated(child);
      default:
        return;
    }
  }

  private hasRun(id: string): boolean {
    return this.deps.database.tables.executions.find(id)?.committed !== undefined;
  }

  /** The attempt has ended, or is about to. */
  private isDealtWith(taskId: string): boolean {
    const key = parseTaskId(taskId as TaskId);
    if (key === undefined) return false;
    const row = this.deps.database.tables.taskQueue.find(queueKey(key.executionId, key.scheduledSeq))?.committed;
    return row === undefined || row.outcome !== undefined;
  }

  /** A child that somebody took up again after its end goes its own way. */
  private checkTerminated(child: string): void {
    const row = this.deps.database.tables.executions.find(child)?.committed;
    if (row === undefined || isClosedExecution(row.status) || this.deps.watch(row.executionId).isOnItsOwn) return;
    this.broken(`${child} is ${row.status} after it was to be terminated`);
  }

  /** The attempt ended before its child did: the child is told, in the same commit. */
  readonly left = (run: ExecutionId, taskId: TaskId): void => {
    const message = this.deps.database.tables.outbox.find(`${run}|${taskId}/terminate`)?.committed;
    if (message === undefined) this.broken(`${taskId} leaves its child behind`);
  };
}
