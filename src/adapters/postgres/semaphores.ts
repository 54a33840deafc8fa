import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { SemaphoreStore, SemaphoreUse } from '../../ports/limits.ts';
import type { Session } from './database.ts';
import { count, instant, prepared, preparedCommand, sql, text } from './statement.ts';

const row = z.object({ name: text, permits: count, held: count, createdAt: instant, updatedAt: instant });
const put = prepared('semaphores_put', row.extend({ before: count.exactOptional() }));
const find = prepared('semaphores_find', row);
const list = prepared('semaphores_list', row);
const remove = preparedCommand('semaphores_delete');

/** Permits are a part of the leases that hold them; an attempt that has been reported holds none. */
const HELD = sql.fragment`(
  select count(*) from task_queue t
  where t.namespace = s.namespace and t.permits is not null and t.outcome is null and s.name = any(t.permits)
) as held`;

const putSemaphore: (
  session: Session,
  namespace: Namespace,
  name: string,
  permits: number,
) => ReturnType<SemaphoreStore['putSemaphore']> = async (session, namespace, name, permits) => {
  const { before, ...semaphore } = await session.one(put`
    with present as (
      select permits from semaphores where namespace = ${namespace} and name = ${name} for update
    ), s as (
      insert into semaphores as stored (namespace, name, permits) values (${namespace}, ${name}, ${permits})
      on conflict (namespace, name) do update
      set permits = excluded.permits,
        updated_at = case when stored.permits = excluded.permits then stored.updated_at else clock_timestamp() end
      returning *
    )
    select s.name, s.permits, s.created_at, s.updated_at, (select permits from present) as before, ${HELD} from s`);
  const outcome = before === undefined ? 'created' : before === permits ? 'unchanged' : 'replaced';
  return { outcome, semaphore };
};

/** Semaphores of a namespace. */
export const createSemaphoreStore = (session: Session): SemaphoreStore => ({
  putSemaphore: (namespace, name, permits) => putSemaphore(session, namespace, name, permits),
  findSemaphore: (namespace, name): Promise<SemaphoreUse | undefined> =>
    session.row(find`
      select s.name, s.permits, s.created_at, s.updated_at, ${HELD}
      from semaphores s where s.namespace = ${namespace} and s.name = ${name}`),
  listSemaphores: (namespace, { limit, after }) =>
    session.rows(list`
      select s.name, s.permits, s.created_at, s.updated_at, ${HELD}
      from semaphores s
      where s.namespace = ${namespace} and s.name > ${after ?? ''}
      order by s.name
      limit ${limit}::bigint`),
  deleteSemaphore: async (namespace, name) =>
    (await session.run(remove`delete from semaphores where namespace = ${namespace} and name = ${name}`)) > 0,
});
