/**
 * The PostgreSQL of a test run: a given one, one in Docker, or the embedded one. Nothing here needs vitest, so
 * simulations and benchmarks can use it as well.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/embedded-postgres.ts';
import { createDatabase, databaseUrl, dropDatabase, dropDatabasesLike } from './databases.ts';

/** What a test needs to make databases of its own. It is plain data, so it can be handed to other processes. */
export type TestPostgres = Readonly<{
  kind: 'given' | 'container' | 'embedded';
  /** A database of the server to connect to while others are made and dropped. */
  adminUrl: string;
  /** The migrated database from which those of the tests are copied. */
  templateName: string;
  /** What the names of all databases of this run begin with. */
  databasePrefix: string;
}>;

type Server = Readonly<{ kind: TestPostgres['kind']; adminUrl: string; stop: () => Promise<void> }>;

const PG15_PROGRAMS = '/usr/lib/postgresql/15/bin';
const CONTAINER_IMAGE = 'postgres:18-alpine';

const givenServer = (): Server | undefined => {
  const adminUrl = process.env.TEST_DATABASE_URL ?? process.env.DATABASE_URL;
  return adminUrl === undefined ? undefined : { kind: 'given', adminUrl, stop: async () => undefined };
};

const startContainer = async (): Promise<Server> => {
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const container = await new PostgreSqlContainer(CONTAINER_IMAGE)
    .withCommand(['postgres', '-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'max_connections=300'])
    .start();
  const stop = async () => {
    await container.stop();
  };
  return { kind: 'container', adminUrl: container.getConnectionUri(), stop };
};

/** Docker, where it answers and has or gets the image; without it the embedded server serves as well. */
const containerServer = async (): Promise<Server | undefined> => {
  const { getContainerRuntimeClient } = await import('testcontainers');
  try {
    await getContainerRuntimeClient();
    return await startContainer();
  } catch {
    return undefined;
  }
};

// Ends the server and removes its files when the pipe to this process closes, which also happens on SIGKILL.
const REAPER = `
  cat > /dev/null
  directory=$(cat "$1"/postgres/location || echo "$1"/postgres)
  pid=$(head -n 1 "$directory"/data/postmaster.pid) && kill -QUIT "$pid"
  for tries in 1 2 3 4 5; do rm -rf "$directory" "$1" && break; sleep 1; done`;

const startReaper = (home: string): (() => void) => {
  if (process.platform === 'win32') return () => undefined;
  const reaper = spawn('sh', ['-c', REAPER, 'sh', home], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  reaper.unref();
  return () => reaper.kill('SIGKILL');
};

const embeddedServer = async (): Promise<Server> => {
  const home = await mkdtemp(join(tmpdir(), 'rondo-test-postgres-'));
  // mkdtemp closes the folder to others, and root's server runs as another user. The data stays closed.
  await chmod(home, 0o755);
  const dismissReaper = startReaper(home);
  const server = await startEmbeddedPostgres({
    home,
    durable: false,
    binaries: process.env.RONDO_TEST_PG15 === '1' ? PG15_PROGRAMS : 'bundled',
    log: () => undefined,
  });
  return {
    kind: 'embedded',
    adminUrl: server.url,
    stop: async () => {
      await server.stop();
      await rm(server.directory, { recursive: true, force: true });
      await rm(home, { recursive: true, force: true });
      dismissReaper();
    },
  };
};

const migrateTemplate = async (url: string): Promise<void> => {
  const path = join(import.meta.dirname, '../../src/adapters/postgres/migrate.ts');
  if (!existsSync(path)) return;
  const { migrate } = await import(path);
  await migrate({ url });
};

const startServer = async (): Promise<Server> => {
  if (process.env.RONDO_TEST_PG15 === '1') return embeddedServer();
  return givenServer() ?? (await containerServer()) ?? (await embeddedServer());
};

/**
 * Starts or finds the server and makes the template database, migrated once. `stop` drops every database of the run
 * and stops what was started. Several runs can share one given server.
 */
export async function startTestPostgres(): Promise<{ testPostgres: TestPostgres; stop: () => Promise<void> }> {
  const { kind, adminUrl, stop } = await startServer();
  const databasePrefix = `rondo_test_${process.pid}_${randomBytes(4).toString('hex')}`;
  const templateName = `${databasePrefix}_template`;
  const testPostgres = { kind, adminUrl, templateName, databasePrefix };
  const stopAll = async () => {
    if (kind === 'given') await dropDatabasesLike(adminUrl, databasePrefix);
    await stop();
  };
  try {
    await createDatabase(adminUrl, templateName, 'template0');
    await migrateTemplate(databaseUrl(adminUrl, templateName));
    return { testPostgres, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Makes a database as the migrations leave it. `drop` removes it, ending connections that are still open. */
export async function createDatabaseFrom(
  testPostgres: TestPostgres,
): Promise<{ url: string; drop: () => Promise<void> }> {
  const { adminUrl, templateName, databasePrefix } = testPostgres;
  const name = `${databasePrefix}_${randomBytes(6).toString('hex')}`;
  await createDatabase(adminUrl, name, templateName);
  return { url: databaseUrl(adminUrl, name), drop: () => dropDatabase(adminUrl, name) };
}
