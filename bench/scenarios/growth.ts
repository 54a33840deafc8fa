import type pg from 'pg';
import type { BenchDatabase } from '../database.ts';
import { chain } from '../definitions.ts';
import { inProcess } from '../doors/in-process.ts';
import { type Figures, ratio } from '../figures.ts';
import { numbers } from '../measure.ts';
import { type Load, type Scenario, saturated, share } from './scenario.ts';

const LENGTH = 3;
const COPIES_AT_A_TIME = 50_000;
/** Between the starts of two finished runs. */
const APART_MS = 50;

/** The same chains in an empty database and among so many finished ones. */
const among = (finished: number, runs: number): Scenario => ({
  name: `growth: chain of ${LENGTH} among ${finished} finished executions`,
  byNameOnly: true,
  run: async (database) => {
    const load: Load = { definition: chain(LENGTH), runs, tasksPerRun: LENGTH, warmUp: share(runs, 0.1) };
    const empty = await saturated(inProcess, database, load);
    await finish(database, finished);
    const grown = await saturated(inProcess, database, load);
    return {
      ...prefixed('empty', empty),
      ...prefixed('grown', grown),
      'workflows/s, grown to empty': ratio(grown['workflows/s'], empty['workflows/s']),
    };
  },
});

const prefixed = (prefix: string, figures: Figures): Figures =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${prefix}: ${name}`, value]));

/** Copies one completed run of the bench, with its history, until there are so many. */
const finish = async ({ client }: BenchDatabase, finished: number): Promise<void> => {
  const { rows } = await client.query(`select workflow_id from workflow_executions where status = 'COMPLETED' limit 1`);
  const tables = ['workflow_executions', 'task_executions', 'workflow_events'];
  const copiers = await Promise.all(tables.map((table) => copier(client, table)));
  for (const batch of numbers(0, Math.ceil(finished / COPIES_AT_A_TIME))) {
    const from = batch * COPIES_AT_A_TIME;
    const to = Math.min(finished, from + COPIES_AT_A_TIME);
    for (const copy of copiers) await client.query(copy, [rows[0].workflow_id, from, to]);
  }
  await client.query('vacuum analyze');
};

/** Its id says when a run began, as those of real runs do; of the other columns only the name and the times are not copied. */
const copier = async (client: pg.Client, table: string): Promise<string> => {
  const { rows } = await client.query(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  );
  const columns: readonly string[] = rows.map(({ name }) => name);
  const values = rows.map(({ name, type }) => {
    if (name === 'workflow_id') return 'copy.id';
    if (table === 'workflow_executions' && name === 'name') return `'finished'`;
    if (type === 'timestamp with time zone') return `source.${name} - copy.age`;
    return `source.${name}`;
  });
  return `
    insert into ${table} (${columns.join(', ')})
    select ${values.join(', ')}
    from ${table} as source, lateral (
      select
        (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n * ${APART_MS}), 12, '0') || '7'
          || substr(md5('a' || n), 1, 3) || '8' || substr(md5('b' || n), 1, 15))::uuid as id,
        n * interval '${APART_MS} ms' as age
      from generate_series($2::bigint + 1, $3::bigint) as n
    ) as copy
    where source.workflow_id = $1`;
};

export const growth = (runs: number): readonly Scenario[] => [among(share(runs, 1_000 / 3), runs)];
