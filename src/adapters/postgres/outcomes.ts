import { z } from 'zod';
import type { DeadlineKind } from '../../domain/execution/events.ts';
import type { TaskOutcome } from '../../domain/execution/requests.ts';
import { type ExecutionId, taskIdOf } from '../../domain/kernel/brand.ts';
import type { Session } from './database.ts';
import type { PassMemory } from './decide-queue.ts';
import { groupByRun } from './event-log.ts';
import { count, executionId, given, instant, jsonObject, prepared, sql, text, word } from './statement.ts';

const outcomeRow = z.object({
  executionId,
  scheduledSeq: count,
  ref: text,
  iteration: count,
  attempt: count,
  status: word<TaskOutcome['status']>(),
  output: jsonObject,
  reason: text.exactOptional(),
  deadline: word<DeadlineKind>().exactOptional(),
  workerId: text.exactOptional(),
  startedAt: instant.exactOptional(),
  callbacks: count.exactOptional(),
  callbackSeconds: count.exactOptional(),
  reportHash: text.exactOptional(),
});
const read = prepared('outcomes_read', outcomeRow);
const readAll = prepared('outcomes_read_all', outcomeRow);

const OUTCOME_COLUMNS = sql.fragment`
  t.workflow_id as execution_id, t.scheduled_seq, t.ref, t.iteration, t.attempt, t.outcome as status,
  t.outcome_output as output, t.outcome_reason as reason, t.outcome_deadline as deadline, t.worker_id, t.started_at,
  t.callbacks, t.callback_seconds,
  case when t.lease_token is not null
    then hash_record_extended(row(t.lease_token, t.outcome, t.outcome_reason, t.outcome_output::text), 0)::text
  end as report_hash`;

type OutcomeOfRun = TaskOutcome & Readonly<{ executionId: ExecutionId }>;

/** The outcomes of the rows. The hashes of the reports that they came from are kept for the close of their attempts. */
const outcomesOf = (memory: PassMemory, rows: readonly z.output<typeof outcomeRow>[]): readonly OutcomeOfRun[] =>
  rows.map(({ scheduledSeq, reportHash, ...outcome }) => {
    if (reportHash !== undefined) memory.reportHashes.set(taskIdOf(outcome.executionId, scheduledSeq), reportHash);
    return outcome;
  });

const withoutRun = ({ executionId: _executionId, ...outcome }: OutcomeOfRun): TaskOutcome => outcome;

/** Outcomes that the claimed decide rows told of, in the order in which they were reported. */
export const readOutcomes = async (
  session: Session,
  memory: PassMemory,
  executionIds: readonly ExecutionId[],
): Promise<ReadonlyMap<ExecutionId, readonly TaskOutcome[]>> => {
  const keys = executionIds.flatMap((id) => [...(memory.reported.get(id) ?? [])].map((seq) => ({ id, seq })));
  if (keys.length === 0) return new Map();
  const ids = sql.array(
    keys.map(({ id }) => id),
    'uuid',
  );
  const seqs = sql.array(
    keys.map(({ seq }) => seq),
    'int8',
  );
  const rows = await session.rows(read`
    select ${OUTCOME_COLUMNS}
    from ${given(sql.fragment`${ids} as ids, ${seqs} as seqs`)}
    cross join lateral unnest(given.ids, given.seqs) as reported (workflow_id, scheduled_seq)
    cross join lateral (
      select * from task_queue q
      where q.workflow_id = reported.workflow_id and q.scheduled_seq = reported.scheduled_seq and q.outcome is not null
      offset 0
    ) as t
    order by t.outcome_at, t.scheduled_seq`);
  return groupByRun(outcomesOf(memory, rows), withoutRun);
};

/** Everything that waits in the mailboxes of a run, whether or not a decide row tells of it. */
export const readAllOutcomes = async (
  session: Session,
  memory: PassMemory,
  id: ExecutionId,
): Promise<readonly TaskOutcome[]> => {
  const rows = await session.rows(readAll`
    select ${OUTCOME_COLUMNS} from task_queue t
    where t.workflow_id = ${id} and t.outcome is not null
    order by t.outcome_at, t.scheduled_seq`);
  return outcomesOf(memory, rows).map(withoutRun);
};
