import { z } from 'zod';
import type { EventHandler } from '../../domain/event-handler/event-handler.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { JsonObject } from '../../domain/kernel/json.ts';
import type {
  EventDedupe,
  EventHandlerFilter,
  EventHandlerRow,
  EventHandlerRun,
  EventHandlerRunState,
  EventHandlerStore,
  EventHandlerTx,
  NewEventHandlerRun,
} from '../../ports/event-handler-store.ts';
import type { Session } from './database.ts';
import { instant, jsonOf, namespaceName, prepared, preparedCommand, sql, text, timestamp, word } from './statement.ts';

const content = z.object({ handler: jsonOf<EventHandler>() });
const handlerRow = content.extend({
  namespace: namespaceName,
  createdAt: instant,
  updatedAt: instant,
  createdBy: text,
  updatedBy: text,
});
const handlerRun = z.object({
  id: text,
  namespace: namespaceName,
  handler: text,
  event: text,
  messageId: text,
  state: word<EventHandlerRunState>(),
  reason: text.exactOptional(),
  actions: jsonOf<readonly JsonObject[]>(),
  recordedAt: instant,
});

const ofEvent = prepared('event_handlers_of_event', content);
const findContent = prepared('event_handlers_find_content', content);
const claim = preparedCommand('event_dedupes_claim');
const forget = preparedCommand('event_dedupes_forget');
const record = preparedCommand('event_handler_runs_record');
const trim = preparedCommand('event_handler_runs_trim');
const put = prepared('event_handlers_put', handlerRow.extend({ isNew: z.boolean() }));
const find = prepared('event_handlers_find', handlerRow);
const list = prepared('event_handlers_list', handlerRow);
const remove = preparedCommand('event_handlers_delete');
const removeRuns = preparedCommand('event_handler_runs_delete');
const runsOf = prepared('event_handler_runs_list', handlerRun);
const runsOfAll = prepared('event_handler_runs_list_all', handlerRun);

const COLUMNS = sql.fragment`namespace, handler, created_at, updated_at, created_by, updated_by`;
const RUN_COLUMNS = sql.fragment`
  id::text, namespace, handler, event, message_id, state, reason, actions, recorded_at`;
const LAST_ID = '9223372036854775807';
/** Old ids that one message lets go of. */
const FORGOTTEN_MAX = 100;

const claimEventDedupe = async (
  session: Session,
  { namespace, handler, dedupeId }: EventDedupe,
  keptMs: number,
): Promise<boolean> => {
  await session.run(forget`
    with old as (
      select dedupe_id from event_dedupes
      where namespace = ${namespace} and handler = ${handler}
        and seen_at < clock_timestamp() - ${keptMs}::bigint * interval '1 millisecond'
      order by seen_at limit ${FORGOTTEN_MAX}::bigint for update skip locked
    )
    delete from event_dedupes e using old
    where e.namespace = ${namespace} and e.handler = ${handler} and e.dedupe_id = old.dedupe_id`);
  const claimed = await session.run(claim`
    insert into event_dedupes (namespace, handler, dedupe_id) values (${namespace}, ${handler}, ${dedupeId})
    on conflict (namespace, handler, dedupe_id) do update set seen_at = excluded.seen_at
    where event_dedupes.seen_at < clock_timestamp() - ${keptMs}::bigint * interval '1 millisecond'`);
  return claimed > 0;
};

const recordEventHandlerRun = async (session: Session, run: NewEventHandlerRun, keepMax: number): Promise<void> => {
  await session.run(record`
    insert into event_handler_runs (namespace, handler, message_id, event, state, reason, actions)
    values (
      ${run.namespace}, ${run.handler}, ${run.messageId}, ${run.event}, ${run.state}, ${run.reason ?? null},
      ${JSON.stringify(run.actions)}::json
    )
    on conflict (namespace, handler, message_id) do update
    set state = excluded.state, reason = excluded.reason, actions = excluded.actions, recorded_at = excluded.recorded_at`);
  await session.run(trim`
    with beyond as (
      select id from event_handler_runs
      where namespace = ${run.namespace} and handler = ${run.handler} and id <= (
        select id from event_handler_runs where namespace = ${run.namespace} and handler = ${run.handler}
        order by id desc offset ${keepMax}::bigint limit 1
      )
      order by id for update skip locked
    )
    delete from event_handler_runs r using beyond
    where r.namespace = ${run.namespace} and r.handler = ${run.handler} and r.id = beyond.id`);
};

export const eventHandlerWrites = (session: Session): EventHandlerTx => ({
  handlersOf: async (namespace, event) => {
    const rows = await session.rows(ofEvent`
      select handler from event_handlers
      where namespace = ${namespace} and event = ${event} and active order by name`);
    return rows.map(({ handler }) => handler);
  },
  findHandler: async (namespace, name) =>
    (
      await session.row(
        findContent`select handler from event_handlers where namespace = ${namespace} and name = ${name}`,
      )
    )?.handler,
  claimEventDedupe: (dedupe, keptMs) => claimEventDedupe(session, dedupe, keptMs),
  recordEventHandlerRun: (run, keepMax) => recordEventHandlerRun(session, run, keepMax),
});

const putHandler = async (session: Session, row: EventHandlerRow): ReturnType<EventHandlerStore['putHandler']> => {
  const { isNew, ...stored } = await session.one(put`
    insert into event_handlers as present (
      namespace, name, event, active, handler, created_at, updated_at, created_by, updated_by
    )
    values (
      ${row.namespace}, ${row.handler.name}, ${row.handler.event}, ${row.handler.active},
      ${JSON.stringify(row.handler)}::json, ${timestamp(row.createdAt)}, ${timestamp(row.updatedAt)}, ${row.createdBy},
      ${row.updatedBy}
    )
    on conflict (namespace, name) do update
    set event = excluded.event, active = excluded.active, handler = excluded.handler, updated_at = excluded.updated_at,
      updated_by = excluded.updated_by
    returning ${COLUMNS}, (xmax = 0) as is_new`);
  return { outcome: isNew ? 'created' : 'replaced', row: stored };
};

const listHandlers = (
  session: Session,
  namespace: Namespace,
  { event, active }: EventHandlerFilter,
  { limit, after = '' }: Readonly<{ limit: number; after?: string }>,
): Promise<readonly EventHandlerRow[]> =>
  session.rows(list`
    select ${COLUMNS} from event_handlers
    where namespace = ${namespace} and name > ${after}
      and (${event ?? null}::text is null or event = ${event ?? null}::text)
      and (${active ?? null}::boolean is null or active = ${active ?? null}::boolean)
    order by name
    limit ${limit}::bigint`);

const listHandlerRuns = (
  session: Session,
  namespace: Namespace,
  handler: string | undefined,
  { limit, before = LAST_ID }: Readonly<{ limit: number; before?: string }>,
): Promise<readonly EventHandlerRun[]> =>
  handler === undefined
    ? session.rows(runsOfAll`
        select ${RUN_COLUMNS} from event_handler_runs
        where namespace = ${namespace} and id < ${before}::bigint
        order by event_handler_runs.id desc
        limit ${limit}::bigint`)
    : session.rows(runsOf`
        select ${RUN_COLUMNS} from event_handler_runs
        where namespace = ${namespace} and handler = ${handler} and id < ${before}::bigint
        order by event_handler_runs.id desc
        limit ${limit}::bigint`);

/** Handlers of events, and their log. */
export const createEventHandlerStore = (session: Session): EventHandlerStore => ({
  putHandler: (row) => putHandler(session, row),
  findHandlerRow: (namespace, name) =>
    session.row(find`select ${COLUMNS} from event_handlers where namespace = ${namespace} and name = ${name}`),
  listHandlers: (namespace, filter, page) => listHandlers(session, namespace, filter, page),
  deleteHandler: async (namespace, name) => {
    const removed = await session.run(remove`
      delete from event_handlers where namespace = ${namespace} and name = ${name}`);
    await session.run(removeRuns`delete from event_handler_runs where namespace = ${namespace} and handler = ${name}`);
    return removed > 0;
  },
  listHandlerRuns: (namespace, handler, page) => listHandlerRuns(session, namespace, handler, page),
});
