import { z } from 'zod';
import type { HealthProbe } from '../../ports/health-probe.ts';
import { withConnection } from './admin-connection.ts';
import type { Session } from './database.ts';
import { UnsafeDurabilityError } from './database-error.ts';
import { compareMigrations, MIGRATIONS_DIRECTORY, readMigrations } from './migration-files.ts';
import { classifyFailure } from './sqlstate.ts';
import { count, prepared, text } from './statement.ts';

const VERSION_MIN = 15;
const VERSION_UNIT = 10_000;

const server = prepared(
  'health_server',
  z.object({
    version: count,
    synchronousCommit: text,
    fsync: text,
    isStandby: z.boolean(),
    hasHistory: z.boolean(),
  }),
);
const applied = prepared('health_migrations', z.object({ version: count, name: text, checksum: text }));

type Durability = Readonly<{ synchronousCommit: string; fsync: string }>;

const durabilityProblems = ({ synchronousCommit, fsync }: Durability): readonly string[] => [
  ...(synchronousCommit === 'off'
    ? ['synchronous_commit is off: a crash would lose work that was acknowledged. Turn it on.']
    : []),
  ...(fsync === 'off' ? ['fsync is off: a crash of the machine would lose or corrupt data. Turn it on.'] : []),
];

const schemaProblems = async (session: Session, hasHistory: boolean): Promise<readonly string[]> => {
  const history = hasHistory
    ? await session.rows(applied`select version, name, checksum from schema_migrations order by version`)
    : [];
  const { pending, ahead, changed } = compareMigrations(await readMigrations(MIGRATIONS_DIRECTORY), history);
  const missing = pending.map(({ name }) => name);
  return [
    ...(missing.length > 0 ? [`the schema lacks ${missing.join(', ')}: run the migrations.`] : []),
    ...(ahead.length > 0 ? [`the schema is ahead of this version by ${ahead.join(', ')}: update Rondo.`] : []),
    ...(changed.length > 0 ? [`applied migrations differ from their files: ${changed.join(', ')}.`] : []),
  ];
};

const findProblems = async (session: Session, allowUnsafeDurability: boolean): Promise<readonly string[]> => {
  const found = await session.one(server`
    select current_setting('server_version_num')::integer as version,
      current_setting('synchronous_commit') as synchronous_commit, current_setting('fsync') as fsync,
      pg_is_in_recovery() as is_standby, to_regclass('schema_migrations') is not null as has_history`);
  const major = Math.floor(found.version / VERSION_UNIT);
  return [
    ...(major < VERSION_MIN ? [`PostgreSQL ${major} is too old: ${VERSION_MIN} or newer is needed.`] : []),
    ...(found.isStandby ? ['the database is a standby and takes no writes: connect to the primary.'] : []),
    ...(allowUnsafeDurability ? [] : durabilityProblems(found)),
    ...(await schemaProblems(session, found.hasHistory)),
  ];
};

/** Whether the database can be worked with. A failing database is a problem told, never a throw. */
export const createHealthProbe = (
  session: Session,
  options: Readonly<{ allowUnsafeDurability: boolean }>,
): HealthProbe => ({
  problems: async () => {
    try {
      return await findProblems(session, options.allowUnsafeDurability);
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      return [
        classifyFailure(error) === 'unavailable'
          ? 'the database cannot be reached.'
          : `the database cannot be examined: ${cause}`,
      ];
    }
  },
});

/** Refuses a server that may lose what it acknowledged. Errors: UNSAFE_DURABILITY, UNAVAILABLE. */
export const assertDurable = (url: string): Promise<void> =>
  withConnection(url, async (client) => {
    const { rows } = await client.query<Durability>(
      `select current_setting('synchronous_commit') as "synchronousCommit", current_setting('fsync') as fsync`,
    );
    const problems = rows.flatMap(durabilityProblems);
    if (problems.length > 0) throw new UnsafeDurabilityError(problems.join(' '));
  });
