import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export type MigrationFile = Readonly<{ version: number; name: string; checksum: string; sql: string }>;

/** A migration as the database remembers it. */
export type AppliedMigration = Readonly<{ version: number; name: string; checksum: string }>;

export const MIGRATIONS_DIRECTORY = fileURLToPath(new URL('../../../migrations', import.meta.url));

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;

/** The numbered files of the folder, in order. */
export const readMigrations = async (directory: string): Promise<readonly MigrationFile[]> => {
  const names = (await readdir(directory)).filter((name) => FILE_NAME.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(`${directory}/${name}`, 'utf8');
      const checksum = createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex');
      return { version: Number(FILE_NAME.exec(name)?.[1]), name, checksum, sql };
    }),
  );
};

export type SchemaDrift = Readonly<{
  /** Files that the database has not seen. */
  pending: readonly MigrationFile[];
  /** Names that the database has seen and this program does not know. */
  ahead: readonly string[];
  /** Names whose content is not what was applied. */
  changed: readonly string[];
}>;

export const compareMigrations = (
  files: readonly MigrationFile[],
  applied: readonly AppliedMigration[],
): SchemaDrift => {
  const known = new Map(files.map((file) => [file.version, file]));
  const seen = new Set(applied.map(({ version }) => version));
  return {
    pending: files.filter((file) => !seen.has(file.version)),
    ahead: applied.filter(({ version }) => !known.has(version)).map(({ name }) => name),
    changed: applied
      .filter(({ version, checksum }) => known.has(version) && known.get(version)?.checksum !== checksum)
      .map(({ name }) => name),
  };
};
