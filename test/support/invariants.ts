/**
 * What must hold of every run whatever happened to it, read from the database alone. The numbers are those of the list
 * of invariants that all layers of tests share: 1 dense history with one end, 2 rows are the fold of it, 3 nothing more
 * follows from it, 4 attempts without gaps, 5 one live lease a task, 6 an accepted report is one fact, 7 none with an old
 * token, 8 no open work under an end, 10 timers fire once and in time, 16 a join closes once, 20 no session left in a
 * transaction, 21 every run ends, 23 no orphans.
 */
import type pg from 'pg';
import { PlanCache } from '../../src/application/definitions/plan-cache.ts';
import { beginWithFirstPlan, foldFromStart, offerPlans } from '../../src/application/fold-log.ts';
import { decide } from '../../src/domain/execution/decide.ts';
import type { SequencedEvent, WorkflowEvent } from '../../src/domain/execution/events.ts';
import { lookAtAll } from '../../src/domain/execution/look-at-all.ts';
import { projectView } from '../../src/domain/execution/project-view.ts';
import { replayLog } from '../../src/domain/execution/replay.ts';
import { resume } from '../../src/domain/execution/resume.ts';
import { type ExecutionState, emptyState } from '../../src/domain/execution/state.ts';
import { type ExecutionStatus, isClosedExecution } from '../../src/domain/execution/statuses.ts';
import type { ExecutionView } from '../../src/domain/execution/view.ts';
import { type ExecutionId, type Instant, parseTaskId } from '../../src/domain/kernel/brand.ts';
import { canonicalJson } from '../../src/domain/kernel/canonical-json.ts';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { CALLBACK_PATH } from '../../src/domain/tasks/webhook.ts';
import type { DefinitionReads, TaskReport } from '../../src/ports/engine-store.ts';
import { evaluateScript } from './scripts.ts';
import type { Ledger } from './workers.ts';
import { resultOf } from './workers.ts';

type QueueRow = Readonly<{ seq: number; ref: string; iteration: number; attempt: number; hasOutcome: boolean }>;
type ClosedRow = Readonly<{ ref: string; iteration: number; attempt: number; status: string }>;
type Row = Readonly<{
  status: ExecutionStatus;
  definitionHash: string;
  output: JsonObject | null;
  reason: string | null;
  failedTask: string | null;
  hasEnd: boolean;
}>;

/** One run, as every table tells it. */
export type RunRecord = Readonly<{
  id: ExecutionId;
  row: Row;
  log: readonly SequencedEvent[];
  queue: readonly QueueRow[];
  closed: readonly ClosedRow[];
  timers: number;
  awaitsPass: boolean;
}>;

const SELECT_RUNS = `
  select w.workflow_id as id, w.status, w.definition_hash, w.output, w.reason, w.failed_task,
    w.ended_at is not null as has_end,
    (select count(*)::integer from timers m where m.workflow_id = w.workflow_id) as timers,
    exists (select from decide_queue d where d.workflow_id = w.workflow_id) as awaits_pass,
    coalesce((
      select json_agg(json_build_object('seq', e.seq, 'event', e.data) order by e.seq)
      from workflow_events e where e.workflow_id = w.workflow_id
    ), '[]') as log,
    coalesce((
      select json_agg(json_build_object('seq', q.scheduled_seq, 'ref', q.ref, 'iteration', q.iteration,
        'attempt', q.attempt, 'hasOutcome', q.outcome is not null) order by q.scheduled_seq)
      from task_queue q where q.workflow_id = w.workflow_id
    ), '[]') as queue,
    coalesce((
      select json_agg(json_build_object('ref', t.ref, 'iteration', t.iteration, 'attempt', t.attempt,
        'status', t.status) order by t.scheduled_seq)
      from task_executions t where t.workflow_id = w.workflow_id
    ), '[]') as closed
  from workflow_executions w order by w.workflow_id`;

/** Every run of the database in one snapshot. */
export const readRuns = async (observer: pg.Client): Promise<readonly RunRecord[]> => {
  const { rows } = await observer.query(SELECT_RUNS);
  return rows.map((row) => ({
    id: row.id,
    row: {
      status: row.status,
      definitionHash: row.definition_hash,
      output: row.output,
      reason: row.reason,
      failedTask: row.failed_task,
      hasEnd: row.has_end,
    },
    log: row.log,
    queue: row.queue,
    closed: row.closed,
    timers: row.timers,
    awaitsPass: row.awaits_pass,
  }));
};

/** Facts after which a closed run goes on. */
const REOPENING: ReadonlySet<string> = new Set([
  'ExecutionRetried',
  'ExecutionRerun',
  'TasksRerun',
  'ExecutionRestarted',
]);

type Check = (run: RunRecord, view: ExecutionView) => readonly string[];

const attemptKey = (slot: Readonly<{ ref: string; iteration: number; attempt: number }>): string =>
  `${slot.ref}/${slot.iteration}/${slot.attempt}`;

const sameSets = (what: string, found: readonly string[], wanted: readonly string[]): readonly string[] => {
  const [left, right] = [[...found].sort(), [...wanted].sort()];
  return canonicalJson(left) === canonicalJson(right) ? [] : [`${what}: found ${left}, wanted ${right}`];
};

const eventsOf = <T extends WorkflowEvent['type']>(run: RunRecord, type: T) =>
  run.log
    .map(({ event }) => event)
    .filter((event): event is Extract<WorkflowEvent, { type: T }> => event.type === type);

/** 1 */
const historyIsDense: Check = ({ log }) => {
  const gaps = log.flatMap(({ seq }, index) => (seq === index + 1 ? [] : [`1: seq ${seq} at place ${index + 1}`]));
  const afterEnd = log.flatMap(({ event }, index) =>
    event.type === 'ExecutionClosed' && index + 1 < log.length && !REOPENING.has(log[index + 1]?.event.type ?? '')
      ? [`1: ${log[index + 1]?.event.type} follows the end at ${index + 1}`]
      : [],
  );
  return [...gaps, ...afterEnd];
};

/** 2 and 8 */
const rowsAreTheFold: Check = (run, view) => {
  const { row } = run;
  const isOver = isClosedExecution(row.status);
  const attempts = view.tasks.filter((task) => task.queue !== undefined);
  const found = { status: row.status, output: row.output, reason: row.reason, failed: row.failedTask, end: row.hasEnd };
  const wanted = {
    status: view.status,
    output: view.output ?? null,
    reason: view.reason ?? null,
    failed: view.failedTask ?? null,
    end: view.endedAt !== undefined,
  };
  const open = attempts.filter((task) => task.endedAt === undefined);
  const closed = attempts.filter((task) => task.endedAt !== undefined);
  return [
    ...sameSets('2: the row', [canonicalJson(found)], [canonicalJson(wanted)]),
    ...sameSets('2: open attempts', run.queue.map(attemptKey), open.map(attemptKey)),
    ...sameSets(
      '2: closed attempts',
      run.closed.map((task) => `${attemptKey(task)} ${task.status}`),
      closed.map((task) => `${attemptKey(task)} ${task.status}`),
    ),
    ...(isOver && run.queue.length + run.timers > 0 ? [`8: open work under a run that is ${row.status}`] : []),
  ];
};

/** Facts after which tasks that completed may run again: with attempts above all that were used. */
const TAKING_BACK: ReadonlySet<string> = new Set([...REOPENING, 'ExecutionJumped']);

/** 4 and 6: attempts of a slot are 1 to n, but where something was taken back, each opened once and closed at most once. */
const attemptsHaveNoGaps: Check = (run) => {
  const problems: string[] = [];
  const opened = new Map<string, number>();
  let completed = new Set<string>();
  let tookBack = false;
  for (const { event } of run.log) {
    if (TAKING_BACK.has(event.type)) {
      tookBack = true;
      completed = new Set();
    }
    if (event.type === 'TaskScheduled') {
      const slot = slotOf(event);
      const last = opened.get(slot) ?? 0;
      const follows = tookBack ? event.attempt > last : event.attempt === last + 1;
      if (!follows) problems.push(`4: ${slot} goes from attempt ${last} to ${event.attempt}`);
      opened.set(slot, event.attempt);
    }
    if (event.type !== 'TaskClosed' || event.status !== 'COMPLETED') continue;
    if (completed.has(slotOf(event))) problems.push(`6: a task was completed twice: ${slotOf(event)}`);
    completed.add(slotOf(event));
  }
  const ended = eventsOf(run, 'TaskClosed').map(attemptKey);
  if (new Set(ended).size < ended.length) problems.push(`6: an attempt was closed twice: ${ended}`);
  return problems;
};

const slotOf = ({ ref, iteration }: Readonly<{ ref: string; iteration: number }>): string => `${ref}/${iteration}`;

/** 10 */
const timersFireInTime: Check = (run) => {
  const fireAt = new Map<string, Instant>();
  for (const event of eventsOf(run, 'TaskScheduled')) {
    if (event.fireAt !== undefined) fireAt.set(attemptKey(event), event.fireAt);
  }
  return eventsOf(run, 'TaskClosed').flatMap((event) => {
    const due = fireAt.get(attemptKey(event));
    const byClock = due !== undefined && event.workerId === undefined && event.status === 'COMPLETED';
    return byClock && event.at < due ? [`10: ${attemptKey(event)} fired ${due - event.at} ms early`] : [];
  });
};

/** 16: once between two retries of the run. */
const joinsCloseOnce: Check = (run) => {
  const problems: string[] = [];
  let closed = new Set<string>();
  for (const { event } of run.log) {
    if (TAKING_BACK.has(event.type)) closed = new Set();
    if (event.type !== 'OperatorClosed') continue;
    const slot = `${event.ref}/${event.iteration}`;
    if (closed.has(slot)) problems.push(`16: ${slot} closed twice`);
    closed.add(slot);
  }
  return problems;
};

const CHECKS: readonly Check[] = [historyIsDense, rowsAreTheFold, attemptsHaveNoGaps, timersFireInTime, joinsCloseOnce];

/** Definitions of these tests steer without scripts and name no task at run time. */
const environment = {
  callbackToken: (taskId: string) => `token-of-${taskId}`,
  evaluateScript: () => ({ ok: false, error: { code: 'SCRIPT_FAILED', message: 'no scripts here' } }) as never,
  findViolation: () => undefined,
  taskDefinition: () => null,
  cachedOutput: () => null,
  isPolled: () => false,
  environmentValues: () => ({}),
};

const stateOf = async (run: RunRecord, plans: PlanCache, definitions: DefinitionReads): Promise<ExecutionState> => {
  const plan = await plans.planOf(run.row.definitionHash, definitions);
  return foldFromStart(run.id, plan, run.log, plans, definitions);
};

/** 3: of a run that awaits no pass, nothing more follows, and what it owes is what the tables hold. */
const nothingIsOwed = async (
  run: RunRecord,
  plans: PlanCache,
  definitions: DefinitionReads,
): Promise<readonly string[]> => {
  if (run.awaitsPass) return [];
  const state = await stateOf(run, plans, definitions);
  lookAtAll(state);
  const now = (run.log.at(-1)?.event.at ?? 0) as Instant;
  const [once, twice] = [decide(state, environment, now), decide(state, environment, now)];
  const owed = resume(state).flatMap((command) => (command.type === 'EnqueueTask' ? [command.taskId] : []));
  return [
    ...sameSets('3: decided twice', [canonicalJson(once)], [canonicalJson(twice)]),
    ...once.events.map(({ event }) => `3: ${event.type} is still due`),
    ...sameSets(
      '3: owed attempts',
      run.queue.map(({ seq }) => `${run.id}.${seq}`),
      owed,
    ),
  ];
};

/** The servers' key is not known here, so the token that is on record stands for itself. */
const recordedTokenOf = (run: RunRecord) => (taskId: string) => {
  const event = run.log[(parseTaskId(taskId)?.scheduledSeq ?? 0) - 1]?.event;
  const input = event?.type === 'TaskScheduled' ? (event.input as Readonly<{ callbackPath?: string }>) : {};
  return input.callbackPath?.slice(CALLBACK_PATH.length) ?? '';
};

/** 3: every fact of the log that nobody asked for follows again from the version that the run is pinned to, byte for byte. */
const replaysItself = async (
  run: RunRecord,
  plans: PlanCache,
  definitions: DefinitionReads,
): Promise<readonly string[]> => {
  const state = emptyState(run.id, await plans.planOf(run.row.definitionHash, definitions));
  await offerPlans(state, run.log, plans, definitions);
  beginWithFirstPlan(state, run.log);
  const replay = replayLog(state, run.log, { ...environment, evaluateScript, callbackToken: recordedTokenOf(run) });
  return replay.kind === 'same' ? [] : [`3: replayed, it goes another way: ${JSON.stringify(replay)}`];
};

/** Safety: what of 1 to 4, 6, 8, 10 and 16 does not hold; empty when all is well. */
export const violations = async (observer: pg.Client, definitions: DefinitionReads): Promise<readonly string[]> => {
  const plans = new PlanCache();
  const found: string[] = [];
  for (const run of await readRuns(observer)) {
    const view = projectView(run.id, run.log);
    const problems = [
      ...CHECKS.flatMap((check) => check(run, view)),
      ...(await nothingIsOwed(run, plans, definitions)),
      ...(await replaysItself(run, plans, definitions)),
    ];
    found.push(...problems.map((problem) => `${run.id} ${problem}`));
  }
  return found;
};

/** 1: history is append-only: what was read once is the beginning of what is read later. */
export const rewrittenHistory = (before: readonly RunRecord[], after: readonly RunRecord[]): readonly string[] => {
  const later = new Map(after.map((run) => [run.id, run.log]));
  return before.flatMap(({ id, log }) =>
    canonicalJson(later.get(id)?.slice(0, log.length) ?? []) === canonicalJson(log)
      ? []
      : [`${id} 1: history was rewritten`],
  );
};

const closingsOf = (
  runs: readonly RunRecord[],
): ReadonlyMap<string, Extract<WorkflowEvent, { type: 'TaskClosed' }>> => {
  const closings = new Map<string, Extract<WorkflowEvent, { type: 'TaskClosed' }>>();
  for (const run of runs) {
    const open = new Map<string, string>();
    for (const { seq, event } of run.log) {
      if (event.type === 'TaskScheduled') open.set(attemptKey(event), `${run.id}.${seq}`);
      if (event.type === 'TaskClosed') closings.set(open.get(attemptKey(event)) ?? '', event);
    }
  }
  return closings;
};

/** A failure of an optional task is excused, and says so. */
const isFactOf = (closing: Extract<WorkflowEvent, { type: 'TaskClosed' }>, report: TaskReport): boolean => {
  const isExcused = closing.status === 'COMPLETED_WITH_ERRORS' && report.status !== 'COMPLETED';
  return (
    (isExcused || closing.status === report.status) && canonicalJson(closing.output) === canonicalJson(report.output)
  );
};

/**
 * 5, 6 and 7 by what the clients were told: a task was never in two hands at once, every accepted report is the fact that
 * closed its attempt, and no refused one is.
 */
export const ledgerViolations = (ledger: Ledger, runs: readonly RunRecord[]): readonly string[] => {
  const problems: string[] = [];
  const closings = closingsOf(runs);
  const tokens = ledger.leases.map(({ leaseToken }) => leaseToken);
  if (new Set(tokens).size < tokens.length) problems.push('5: a lease token was given twice');
  const lastToken = new Map(ledger.leases.map(({ taskId, leaseToken }) => [taskId, leaseToken]));
  for (const { report, answer } of ledger.reports) {
    const result = resultOf(answer);
    const closing = closings.get(report.taskId);
    const isTheFact = closing !== undefined && isFactOf(closing, report);
    if (result === 'settled' && !isTheFact) {
      problems.push(`6: the accepted report ${canonicalJson(report)} is not the fact ${JSON.stringify(closing)}`);
    }
    if (result === 'settled' && lastToken.get(report.taskId) !== report.leaseToken) {
      problems.push(`7: ${report.taskId} was settled with a token that had been replaced`);
    }
    if (parseTaskId(report.taskId) === undefined) problems.push(`6: ${report.taskId} is no task id`);
  }
  return problems;
};

const LEFTOVERS = {
  '23: rows in the decide queue': 'select count(*) from decide_queue',
  '23: open attempts': 'select count(*) from task_queue',
  '23: timers': 'select count(*) from timers',
  '23: places under limits on runs': 'select count(*) from execution_admissions',
  '23: messages': 'select count(*) from outbox_events where dead_at is null',
  '21: runs that did not end': `select count(*) from workflow_executions where status in ('RUNNING', 'PAUSED')`,
  '20: sessions in a transaction': `select count(*) from pg_stat_activity
    where datname = current_database() and state like 'idle in transaction%'`,
  '20: advisory locks': `select count(*) from pg_locks l join pg_database d on d.oid = l.database
    where l.locktype = 'advisory' and d.datname = current_database()`,
};

/** Liveness: what is left when everything has been given the time to end; empty when all is well. */
export const leftovers = async (observer: pg.Client): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const [what, query] of Object.entries(LEFTOVERS)) {
    const { rows } = await observer.query<{ count: string }>(query);
    if (rows[0]?.count !== '0') found.push(`${what}: ${rows[0]?.count}`);
  }
  return found;
};

/** Deadlocks that PostgreSQL has broken in this database. */
export const deadlocks = async (observer: pg.Client): Promise<number> => {
  const { rows } = await observer.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0]?.deadlocks);
};
