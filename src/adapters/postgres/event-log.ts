import { z } from 'zod';
import type { SequencedEvent, WorkflowEvent } from '../../domain/execution/events.ts';
import type { ExecutionId, Namespace } from '../../domain/kernel/brand.ts';
import type { Owed } from '../../ports/engine-store.ts';
import type { Session } from './database.ts';
import { eventText, Offloading, withWholeEvents } from './offload.ts';
import {
  arrayText,
  count,
  executionId,
  given,
  jsonOf,
  lines,
  namespaceName,
  prepared,
  preparedCommand,
  sql,
} from './statement.ts';

const read = prepared('events_read', z.object({ executionId, seq: count, event: jsonOf<WorkflowEvent>() }));
const find = prepared('events_find', z.object({ namespace: namespaceName, event: jsonOf<WorkflowEvent>() }));
const append = preparedCommand('events_append');

/** The rows of a batch by run. */
export const groupByRun = <Row extends Readonly<{ executionId: ExecutionId }>, Item>(
  rows: readonly Row[],
  itemOf: (row: Row) => Item,
): ReadonlyMap<ExecutionId, readonly Item[]> => {
  const groups = new Map<ExecutionId, Item[]>();
  for (const row of rows) {
    const group = groups.get(row.executionId);
    if (group === undefined) groups.set(row.executionId, [itemOf(row)]);
    else group.push(itemOf(row));
  }
  return groups;
};

export const readEvents = async (
  session: Session,
  after: ReadonlyMap<ExecutionId, number>,
): Promise<ReadonlyMap<ExecutionId, readonly SequencedEvent[]>> => {
  if (after.size === 0) return new Map();
  const rows = await session.rows(read`
    select wanted.workflow_id as execution_id, e.seq, e.data as event
    from ${given(sql.fragment`
      ${sql.array([...after.keys()], 'uuid')} as ids, ${sql.array([...after.values()], 'int8')} as seqs`)}
    cross join lateral unnest(given.ids, given.seqs) as wanted (workflow_id, seq)
    cross join lateral (
      select e.seq, e.data from workflow_events e
      where e.workflow_id = wanted.workflow_id and e.seq > wanted.seq
      order by e.seq
    ) as e`);
  return groupByRun(await withWholeEvents(session, rows), ({ seq, event }) => ({ seq, event }));
};

export const findEvent = async (
  session: Session,
  id: ExecutionId,
  seq: number,
): Promise<Readonly<{ namespace: Namespace; event: WorkflowEvent }> | undefined> => {
  const row = await session.row(find`
    select namespace, data as event from workflow_events where workflow_id = ${id} and seq = ${seq}::bigint`);
  return row && (await withWholeEvents(session, [row]))[0];
};

/** The primary key refuses a second event at the same seq: only a broken execution lock could try. */
export const appendEvents = async (session: Session, events: readonly Owed<SequencedEvent>[]): Promise<void> => {
  if (events.length === 0) return;
  const ids = arrayText(events.map(({ executionId }) => executionId));
  const seqs = arrayText(events.map(({ item }) => item.seq));
  const namespaces = lines(events.map(({ namespace }) => namespace));
  const out = new Offloading();
  const data = lines(events.map(({ executionId, item }) => eventText(executionId, item.event, out)));
  await out.write(session);
  await session.run(append`
    insert into workflow_events (workflow_id, seq, namespace, data)
    select workflow_id, seq, namespace, data::json
    from unnest(
      ${ids}::uuid[], ${seqs}::bigint[], string_to_array(${namespaces}, E'\\n'), string_to_array(${data}, E'\\n')
    ) as r (workflow_id, seq, namespace, data)`);
};
