import type { Bootstrapped } from '../adapters/cli/program.ts';
import { systemClock } from '../adapters/clock/system-clock.ts';
import { startEmbeddedPostgres } from '../adapters/embedded-postgres/embedded-postgres.ts';
import { createSystemIds } from '../adapters/ids/system-ids.ts';
import { sha256KeyHasher } from '../adapters/keys/sha256-key-hasher.ts';
import { migrate } from '../adapters/postgres/migrate.ts';
import { createPostgresStores } from '../adapters/postgres/stores.ts';
import { createKeyUseCases } from '../application/access/access-use-cases.ts';
import { parseNamespace } from '../domain/kernel/brand.ts';
import { type Config, readConfig } from './config.ts';
import { createLog, type Log } from './log.ts';
import { keepSecretKey } from './secret-key-file.ts';
import { type RunningServer, startServer } from './server.ts';

/** A signal to the whole process group arrives twice, directly and through the launcher. */
const REPEATED_SIGNAL_MS = 2_000;
const LOOPBACK = '127.0.0.1';

/** The user's mistake in what the command was given; its message is one line an operator can act on. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly code = 'CONFIGURATION_INVALID';
}

const configuration = (): Config => {
  const config = readConfig(process.env);
  if (config.ok) return config.value;
  throw new ConfigurationError(`The configuration is not valid. ${config.error.join('; ')}`);
};

const requireDatabaseUrl = (config: Config): string => {
  if (config.databaseUrl !== undefined) return config.databaseUrl;
  throw new ConfigurationError('DATABASE_URL is needed here; `rondo dev` brings a PostgreSQL of its own.');
};

/** Everything on this machine: loopback only, its own PostgreSQL unless DATABASE_URL names one, no credentials needed. */
export const dev = async (): Promise<void> => {
  const config = configuration();
  const log = createLog(config.logLevel);
  const postgres =
    config.databaseUrl === undefined
      ? await startEmbeddedPostgres({
          home: config.home,
          durable: true,
          binaries: 'bundled',
          log: (message) => log.info(message),
        })
      : undefined;
  const databaseUrl = config.databaseUrl ?? postgres?.url ?? '';
  try {
    const server = await startServer({
      config,
      databaseUrl,
      log,
      host: LOOPBACK,
      access: { mode: 'local-administrator' },
      seedNamespace: 'default',
      secretKeys: config.secretKeys.length > 0 ? config.secretKeys : [await keepSecretKey(config.home)],
      // Whoever may start runs here sits at this machine, and tries things on it.
      networks: 'loopback',
    });
    await untilStopped(server, log);
  } finally {
    await postgres?.stop();
  }
};

/** The server on a given database; every caller needs credentials. */
export const serve = async (): Promise<void> => {
  const config = configuration();
  const log = createLog(config.logLevel);
  const server = await startServer({
    config,
    databaseUrl: requireDatabaseUrl(config),
    log,
    host: config.host ?? '0.0.0.0',
    access: { mode: 'credentials' },
    seedNamespace: undefined,
    networks: 'public',
  });
  await untilStopped(server, log);
};

/** Tells that it is ready, and resolves when a signal has stopped the server. */
const untilStopped = async (server: RunningServer, log: Log): Promise<void> => {
  const signalled = new Promise<string>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  });
  process.stdout.write(`Rondo is ready${server.url === undefined ? '' : ` at ${server.url}`}\n`);
  const signal = await signalled;
  const since = performance.now();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (performance.now() - since > REPEATED_SIGNAL_MS) process.exit(130);
    });
  }
  log.info({ signal }, 'stopping');
  await server.stop();
  log.info('stopped');
};

/** Applies the migrations that are missing; answers their names. */
export const migrateSchema = async (): Promise<readonly string[]> => {
  const config = configuration();
  const applied: string[] = [];
  await migrate({ url: requireDatabaseUrl(config), log: (message) => applied.push(message) });
  return applied;
};

/** Makes the namespace and an administrator's key for it. */
export const bootstrap = async (options: Readonly<{ namespace: string; keyName: string }>): Promise<Bootstrapped> => {
  const config = configuration();
  const namespace = parseNamespace(options.namespace);
  if (namespace === undefined) throw new ConfigurationError(`${options.namespace} is no name for a namespace.`);
  const url = requireDatabaseUrl(config);
  await migrate({ url });
  const stores = await createPostgresStores({ url, poolMax: 2, allowUnsafeDurability: config.allowUnsafeDurability });
  try {
    await stores.access.createNamespace(namespace);
    const access = createKeyUseCases({
      access: stores.access,
      ids: createSystemIds(systemClock),
      clock: systemClock,
      hasher: sha256KeyHasher,
    });
    const made = await access.createApiKey(namespace, { name: options.keyName, scopes: ['admin'] });
    if (!made.ok) throw new ConfigurationError(made.error.message);
    return { namespace, key: made.value.key, scopes: made.value.scopes };
  } finally {
    await stores.close();
  }
};
