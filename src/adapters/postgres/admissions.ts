import { z } from 'zod';
import type { Gate } from '../../domain/execution/admission.ts';
import {
  type Admission,
  type AdmissionRequest,
  admit,
  type GateUse,
  gateKey,
  type Occupancy,
  type QuotaUse,
} from '../../domain/execution/admit.ts';
import type { ExecutionId, Namespace } from '../../domain/kernel/brand.ts';
import type { WaitingAdmission } from '../../ports/execution-index.ts';
import type { Session } from './database.ts';
import {
  count,
  executionId,
  jsonRows,
  namespaceName,
  prepared,
  preparedCommand,
  sql,
  text,
  word,
} from './statement.ts';

const lock = preparedCommand('admissions_lock');
const countHeld = prepared(
  'admissions_count',
  z.object({
    kind: word<Gate['kind']>(),
    namespace: namespaceName,
    name: text,
    key: text,
    held: count,
    isAwaited: z.boolean(),
  }),
);
const insert = preparedCommand('admissions_insert');
const release = preparedCommand('admissions_release');
const limited = prepared('quotas_limiting', z.object({ namespace: namespaceName }));
const countQuotas = prepared(
  'quotas_count',
  z.object({
    namespace: namespaceName,
    concurrentMax: count.exactOptional(),
    perMinuteMax: count.exactOptional(),
    running: count,
    startedThisMinute: count,
    minuteEndsInMs: count,
  }),
);
const countStarts = preparedCommand('quotas_count_starts');
const admissible = prepared('admissions_find', z.object({ executionId }));
const waiting = prepared('admissions_waiting', z.object({ namespace: namespaceName, name: text, key: text }));
const promote = preparedCommand('admissions_promote');
const postpone = preparedCommand('admissions_postpone');
const explain = prepared('admissions_explain', z.object({ key: text, limit: count, running: count, ahead: count }));

const LOCK_NAMES: Readonly<Record<Gate['kind'], string>> = { DEFINITION: 'runs', KEY: 'rate' };

type GatePlace = Readonly<{ namespace: Namespace; kind: Gate['kind']; name: string; key: string }>;

const lockName = ({ kind, namespace, name, key }: GatePlace): string =>
  JSON.stringify([LOCK_NAMES[kind], namespace, name, key]);

export const quotaLockName = (namespace: Namespace): string => JSON.stringify(['quota', namespace]);

/** Counting and then taking would let two transactions both see the last place (promise 9). All lock in one order. */
const lockAll = async (session: Session, names: Iterable<string>): Promise<void> => {
  const sorted = [...new Set(names)].sort();
  if (sorted.length === 0) return;
  await session.run(lock`
    select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest(${sql.array(sorted, 'text')}) as wanted (name)`);
};

const distinctGates = (requests: readonly AdmissionRequest[]): readonly (GatePlace & { limit: number })[] => {
  const found = new Map<string, GatePlace & { limit: number }>();
  for (const { namespace, gates } of requests) {
    for (const { kind, name, key, limit } of gates) {
      const id = gateKey(namespace, { kind, name, key });
      found.set(id, { kind, namespace, name, key, limit: Math.max(limit, found.get(id)?.limit ?? 0) });
    }
  }
  return [...found.values()];
};

/** No more places are counted than the limit has: a queue of any length costs one look. */
const gateUses = async (
  session: Session,
  gates: readonly (GatePlace & { limit: number })[],
): Promise<ReadonlyMap<string, GateUse>> => {
  if (gates.length === 0) return new Map();
  const rows = await session.rows(countHeld`
    select wanted.kind, wanted.namespace, wanted.name, wanted.key, held.held,
      exists (
        select from execution_admissions q
        where q.namespace = wanted.namespace and q.name = wanted.name and q.key = wanted.key and q.kind = wanted.kind
          and not q.admitted
      ) as is_awaited
    from json_to_recordset(${jsonRows(gates)}::json) as wanted (
      kind text, namespace text, name text, key text, "limit" bigint
    )
    cross join lateral (
      select count(*) as held from (
        select from execution_admissions a
        where a.namespace = wanted.namespace and a.name = wanted.name and a.key = wanted.key and a.kind = wanted.kind
          and a.admitted
        limit wanted."limit"
      ) as counted
    ) as held`);
  return new Map(rows.map((row) => [gateKey(row.namespace, row), { held: row.held, isAwaited: row.isAwaited }]));
};

/** Namespaces among these in which some quota limits starts. */
const limitingQuotas = async (session: Session, namespaces: readonly Namespace[]): Promise<readonly Namespace[]> => {
  const rows = await session.rows(limited`
    select namespace from namespace_quotas
    where namespace = any(${sql.array(namespaces, 'text')})
      and (max_concurrent_executions is not null or max_executions_per_minute is not null)`);
  return rows.map((row) => row.namespace);
};

const quotaUses = async (
  session: Session,
  namespaces: readonly Namespace[],
): Promise<ReadonlyMap<Namespace, QuotaUse>> => {
  if (namespaces.length === 0) return new Map();
  const rows = await session.rows(countQuotas`
    select q.namespace, q.max_concurrent_executions as concurrent_max, q.max_executions_per_minute as per_minute_max,
      running.running,
      case when q.minute = date_trunc('minute', clock.at) then q.minute_starts else 0 end as started_this_minute,
      ceil(1000 * extract(epoch from date_trunc('minute', clock.at) + interval '1 minute' - clock.at))::bigint
        as minute_ends_in_ms
    from namespace_quotas q
    cross join (select clock_timestamp() as at offset 0) as clock
    cross join lateral (
      select count(*) as running from (
        select from workflow_executions w
        where w.namespace = q.namespace and w.status in ('RUNNING', 'PAUSED')
        limit coalesce(q.max_concurrent_executions, 0)
      ) as counted
    ) as running
    where q.namespace = any(${sql.array(namespaces, 'text')})`);
  return new Map(
    rows.map(({ namespace, concurrentMax, perMinuteMax, ...use }) => [
      namespace,
      { ...use, concurrentMax, perMinuteMax },
    ]),
  );
};

const writePlaces = async (
  session: Session,
  requests: readonly AdmissionRequest[],
  answers: readonly Admission[],
): Promise<void> => {
  const rows = requests.flatMap(({ executionId, namespace, gates }, index) => {
    const answer = answers[index];
    if (answer === undefined || answer.kind === 'refused') return [];
    return gates.map((gate) => ({
      workflow_id: executionId,
      kind: gate.kind,
      namespace,
      name: gate.name,
      key: gate.key,
      runs_max: gate.limit,
      admitted: answer.kind === 'admitted' || !gate.waits,
      index,
    }));
  });
  if (rows.length === 0) return;
  await session.run(insert`
    insert into execution_admissions (workflow_id, kind, namespace, name, key, runs_max, admitted)
    select workflow_id, kind, namespace, name, key, runs_max, admitted
    from json_to_recordset(${jsonRows(rows)}::json) as r (
      workflow_id uuid, kind text, namespace text, name text, key text, runs_max integer, admitted boolean, index integer
    )
    order by index`);
};

const writeStarts = async (session: Session, starts: ReadonlyMap<Namespace, number>): Promise<void> => {
  const rows = [...starts].sort().map(([namespace, starts]) => ({ namespace, starts }));
  if (rows.length === 0) return;
  await session.run(countStarts`
    update namespace_quotas q
    set minute = date_trunc('minute', clock_timestamp()),
      minute_starts = r.starts + case when q.minute = date_trunc('minute', clock_timestamp()) then q.minute_starts else 0 end
    from json_to_recordset(${jsonRows(rows)}::json) as r (namespace text, starts integer)
    where q.namespace = r.namespace and q.max_executions_per_minute is not null`);
};

const startsOf = (
  requests: readonly AdmissionRequest[],
  answers: readonly Admission[],
  quotas: Occupancy['quotas'],
): ReadonlyMap<Namespace, number> => {
  const starts = new Map<Namespace, number>();
  requests.forEach(({ namespace, isStart }, index) => {
    const isCounted = isStart && answers[index]?.kind !== 'refused' && quotas.has(namespace);
    if (isCounted) starts.set(namespace, (starts.get(namespace) ?? 0) + 1);
  });
  return starts;
};

/** Takes places, or places in the queue, under the locks of all limits that are asked for. */
export const admitExecutions = async (
  session: Session,
  requests: readonly AdmissionRequest[],
): Promise<readonly Admission[]> => {
  if (requests.length === 0) return [];
  const gates = distinctGates(requests);
  const namespaces = await limitingQuotas(session, [...new Set(requests.map((request) => request.namespace))]);
  await lockAll(session, [...gates.map(lockName), ...namespaces.map(quotaLockName)]);
  const quotas = await quotaUses(session, namespaces);
  const answers = admit(requests, { gates: await gateUses(session, gates), quotas });
  await writePlaces(session, requests, answers);
  await writeStarts(session, startsOf(requests, answers, quotas));
  return answers;
};

/** Deleting needs no lock of the key: it only makes room. */
export const releaseAdmissions = async (session: Session, ids: readonly ExecutionId[]): Promise<void> => {
  if (ids.length === 0) return;
  await session.run(release`
    delete from execution_admissions where workflow_id = any(${sql.array([...ids].sort(), 'uuid')})`);
};

/** Of each queue as many of the first as there is room for. The walk from key to key never reads a queue to its end. */
export const findAdmissible = async (session: Session, limit: number): Promise<readonly ExecutionId[]> => {
  const rows = await session.rows(admissible`
    with recursive queues as (
      (
        select namespace, name, key from execution_admissions where not admitted
        order by namespace, name, key limit 1
      )
      union all
      select next.namespace, next.name, next.key
      from queues cross join lateral (
        select a.namespace, a.name, a.key from execution_admissions a
        where not a.admitted and (a.namespace, a.name, a.key) > (queues.namespace, queues.name, queues.key)
        order by a.namespace, a.name, a.key limit 1
      ) as next
    )
    select first.workflow_id as execution_id
    from queues
    cross join lateral (
      select count(*) as held from execution_admissions h
      where h.namespace = queues.namespace and h.name = queues.name and h.key = queues.key and h.kind = 'KEY'
        and h.admitted
    ) as held
    cross join lateral (
      select a.workflow_id, a.position, a.runs_max, row_number() over (order by a.position) as place
      from execution_admissions a
      join workflow_executions w on w.workflow_id = a.workflow_id
      where a.namespace = queues.namespace and a.name = queues.name and a.key = queues.key and a.kind = 'KEY'
        and not a.admitted and a.not_before <= (select clock_timestamp()) and w.status = 'RUNNING'
      order by a.position
      limit ${limit}::bigint
    ) as first
    where first.place <= first.runs_max - held.held
    order by first.position
    limit ${limit}::bigint`);
  return rows.map((row) => row.executionId);
};

/**
 * Gives a queued run its place if it is its turn: there is room, and nobody who could go is before it. Who is paused, or
 * could not be admitted a moment ago, is passed by and keeps its position.
 */
export const admitQueued = async (session: Session, id: ExecutionId): Promise<boolean> => {
  const queued = await session.row(waiting`
    select namespace, name, key from execution_admissions where workflow_id = ${id} and kind = 'KEY' and not admitted`);
  if (queued === undefined) return false;
  await lockAll(session, [lockName({ ...queued, kind: 'KEY' })]);
  const promoted = await session.run(promote`
    update execution_admissions mine set admitted = true
    where mine.workflow_id = ${id} and mine.kind = 'KEY' and not mine.admitted
      and exists (select from workflow_executions w where w.workflow_id = mine.workflow_id and w.status = 'RUNNING')
      and mine.runs_max > (
        select count(*) from execution_admissions h
        where h.namespace = mine.namespace and h.name = mine.name and h.key = mine.key and h.kind = 'KEY' and h.admitted
      )
      and not exists (
        select from execution_admissions before join workflow_executions w on w.workflow_id = before.workflow_id
        where before.namespace = mine.namespace and before.name = mine.name and before.key = mine.key
          and before.kind = 'KEY' and not before.admitted and before.position < mine.position
          and before.not_before <= (select clock_timestamp()) and w.status = 'RUNNING'
      )`);
  return promoted > 0;
};

export const postponeAdmission = async (session: Session, id: ExecutionId, delayMs: number): Promise<void> => {
  await session.run(postpone`
    update execution_admissions
    set not_before = clock_timestamp() + ${delayMs}::bigint * interval '1 millisecond'
    where workflow_id = ${id} and not admitted`);
};

/** What a queued run waits for, for those who ask why it does not run. */
export const findWaitingAdmission = (
  session: Session,
  namespace: Namespace,
  id: ExecutionId,
): Promise<WaitingAdmission | undefined> =>
  session.row(explain`
    select a.key, a.runs_max as limit,
      (
        select count(*) from execution_admissions h
        where h.namespace = a.namespace and h.name = a.name and h.key = a.key and h.kind = a.kind and h.admitted
      ) as running,
      (
        select count(*) from execution_admissions before
        where before.namespace = a.namespace and before.name = a.name and before.key = a.key and before.kind = a.kind
          and not before.admitted and before.position < a.position
      ) as ahead
    from execution_admissions a
    where a.workflow_id = ${id} and a.namespace = ${namespace} and not a.admitted`);
