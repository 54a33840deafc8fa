import type { WorkflowEvent } from '../../../src/domain/execution/events.ts';
import { projectView } from '../../../src/domain/execution/project-view.ts';
import { keyOf } from '../../../src/domain/execution/task-key.ts';
import { type ExecutionId, parseTaskId } from '../../../src/domain/kernel/brand.ts';
import { canonicalJson } from '../../../src/domain/kernel/canonical-json.ts';
import type { TaskReport } from '../../../src/ports/engine-store.ts';
import { ADDED, FAILURE_WORKFLOW, type Workflow } from '../generator.ts';
import type { Database } from '../store/database.ts';
import { closedKey, type ExecutionRecord, queueKey } from '../store/rows.ts';
import type { Violations } from './violation.ts';

export type End = Readonly<{
  database: Database;
  violations: Violations;
  workflows: readonly Workflow[];
  hasFailureWorkflow: boolean;
  /** Whether starts take keys over from runs that have ended. */
  takesKeys: boolean;
  settled: ReadonlyMap<string, Readonly<{ report: TaskReport }>>;
  acknowledged: ReadonlySet<ExecutionId>;
}>;

/** When everything has come to its end: the calculated one, with nothing lost, nothing twice and nothing left. */
export const checkEnd = (end: End): void => {
  const { database, violations } = end;
  if (database.openTransactions > 0) violations.add('20', `${database.openTransactions} transactions are open`);
  if (database.advisoryLocks > 0) violations.add('20', `${database.advisoryLocks} advisory locks are held`);
  const { executions } = database.tables;
  for (const id of end.acknowledged) {
    if (executions.find(id)?.committed === undefined) violations.add('13', `the acknowledged start ${id} is gone`);
  }
  checkKeys(end);
  for (const row of executions.committed()) checkRun(end, row);
  for (const { report } of end.settled.values()) checkReport(end, report);
};

/** 14: one run a key, but for one that took it over from a run that had ended by then. */
const checkKeys = ({ database, violations, takesKeys }: End): void => {
  if (takesKeys) return checkHolders(database, violations);
  const seen = new Map<string, ExecutionId>();
  const hadEnded = (id: ExecutionId, at: number): boolean =>
    logOf(database, id).some(({ event }) => event.type === 'ExecutionClosed' && event.at <= at);
  const inOrder = [...database.tables.executions.committed()].sort((a, b) => a.startedAt - b.startedAt);
  for (const { idempotencyKey, executionId, startedAt } of inOrder) {
    if (idempotencyKey === undefined) continue;
    const before = seen.get(idempotencyKey);
    if (before !== undefined && !hadEnded(before, startedAt))
      violations.add('14', `${before} and ${executionId} have the key ${idempotencyKey}`);
    seen.set(idempotencyKey, executionId);
  }
};

/** The holder of a key was started under it, and whoever was so before it has ended once at least. */
const checkHolders = (database: Database, violations: Violations): void => {
  const { executions, events, idempotencyKeys } = database.tables;
  for (const { key, executionId } of idempotencyKeys.committed()) {
    if (executions.find(executionId)?.committed?.idempotencyKey !== key) {
      violations.add('14', `${executionId} holds the key ${key} and was not started under it`);
    }
    for (const row of executions.committed()) {
      if (row.idempotencyKey !== key || row.executionId === executionId) continue;
      const hasEnded = events.committedOf(row.executionId).some(({ event }) => event.type === 'ExecutionClosed');
      if (!hasEnded) violations.add('14', `${row.executionId} lost the key ${key} and had not ended`);
    }
  }
};

const logOf = (database: Database, id: ExecutionId) =>
  database.tables.events
    .committedOf(id)
    .map(({ seq, event }) => ({ seq, event }))
    .sort((a, b) => a.seq - b.seq);

/** 2, 21: what the definition says has been done, no more and no less, found without any of the engine's code. */
const checkRun = (end: End, row: ExecutionRecord): void => {
  const { database, violations, workflows } = end;
  const log = logOf(database, row.executionId);
  const view = projectView(row.executionId, log);
  const broken = (invariant: string, text: string) => violations.add(invariant, `${row.executionId} ${text}`);
  if (view.status !== row.status) broken('2', `is ${row.status} in its row and ${view.status} in its view`);
  checkMessages(
    end,
    row,
    log.map(({ event }) => event),
  );
  const expected = workflows.find(({ name }) => name === row.name)?.expected;
  if (expected === undefined || row.status !== 'COMPLETED') return;
  const facts = new Set<string>(log.map(({ event }) => event.type));
  const found = new Set(view.tasks.filter((task) => task.status === 'COMPLETED').map(keyOf));
  const wanted = new Set([...expected.completed, ...(row.version === 2 ? [ADDED] : [])]);
  const strange = [...found].filter((ref) => !wanted.has(ref));
  if (strange.length > 0 && !facts.has('ExecutionUpgraded'))
    broken('21', `completed ${strange}, which nobody asked for`);
  // Whoever skips tasks, or goes on elsewhere, leaves some undone.
  const isWhole = !LEAVING_OUT.some((type) => facts.has(type));
  const missing = [...wanted].filter((ref) => !found.has(ref));
  if (missing.length > 0 && isWhole) broken('21', `has not completed ${missing}`);
  // A task that runs again counts on, and one that is skipped does not count.
  if (!isWhole || COUNTING_ON.some((type) => facts.has(type))) return;
  const output = canonicalJson(Object.fromEntries(expected.counts));
  if (canonicalJson(row.output ?? null) !== output)
    broken('21', `put out ${canonicalJson(row.output ?? null)}, not ${output}`);
};

const LEAVING_OUT = ['ExecutionJumped', 'ExecutionUpgraded', 'SkipRequested', 'TaskSkipped'];
const COUNTING_ON = ['ExecutionRerun', 'TasksRerun'];

const failedOf = (database: Database, id: ExecutionId): ExecutionId | undefined => {
  const first = database.tables.events.find(queueKey(id, 1))?.committed?.event;
  return first?.type === 'ExecutionStarted' ? first.failedExecutionId : undefined;
};

/** 11: every failure has had its failure workflow, once. */
const checkMessages = (
  { database, violations, hasFailureWorkflow }: End,
  { executionId, name }: ExecutionRecord,
  events: readonly WorkflowEvent[],
): void => {
  if (name === FAILURE_WORKFLOW || !hasFailureWorkflow) return;
  const failures = events.filter(
    (event) => event.type === 'ExecutionClosed' && (event.status === 'FAILED' || event.status === 'TIMED_OUT'),
  );
  const runs = [...database.tables.executions.committed()];
  const followers = runs.filter((each) => failedOf(database, each.executionId) === executionId);
  if (followers.length !== failures.length) {
    violations.add('11', `${executionId} failed ${failures.length} times and ${followers.length} runs know of it`);
  }
};

/** 6: an accepted report is the fact that closed its attempt. */
const checkReport = ({ database, violations }: End, report: TaskReport): void => {
  const key = parseTaskId(report.taskId);
  if (key === undefined) return violations.add('6', `${report.taskId} is no task id`);
  const scheduled = database.tables.events.find(queueKey(key.executionId, key.scheduledSeq))?.committed?.event;
  if (scheduled?.type !== 'TaskScheduled') return violations.add('6', `${report.taskId} was never scheduled`);
  const closing = database.tables.events
    .committedOf(key.executionId)
    .map(({ event, seq }) => ({ event, seq }))
    .filter(({ event, seq }) => event.type === 'TaskClosed' && seq > key.scheduledSeq)
    .map(({ event }) => event as Extract<WorkflowEvent, { type: 'TaskClosed' }>)
    .find((event) => closedKey(key.executionId, event) === closedKey(key.executionId, scheduled));
  const isExcused = closing?.status === 'COMPLETED_WITH_ERRORS' && report.status !== 'COMPLETED';
  const isFact = closing !== undefined && canonicalJson(closing.output) === canonicalJson(report.output);
  if (!isFact || !(isExcused || closing.status === report.status)) {
    violations.add('6', `the accepted report ${JSON.stringify(report)} is not the fact ${JSON.stringify(closing)}`);
  }
};
