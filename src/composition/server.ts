import { systemClock } from '../adapters/clock/system-clock.ts';
import { createBlobFiles } from '../adapters/files/blob-files.ts';
import type { AccessPolicy } from '../adapters/http/access-policy.ts';
import { createHttpApp } from '../adapters/http/app.ts';
import { HTTP_LIMITS } from '../adapters/http/limits.ts';
import { type HttpServer, startHttpServer } from '../adapters/http/server.ts';
import { createSecretSeal, type SealKey } from '../adapters/keys/aes-gcm-seal.ts';
import type { ReachableNetworks } from '../adapters/outbound/address-guard.ts';
import { createGuardedHttp } from '../adapters/outbound/guarded-http.ts';
import { openDatasources } from '../adapters/postgres/datasources.ts';
import { assertDurable } from '../adapters/postgres/health.ts';
import { ensurePartitions, migrate } from '../adapters/postgres/migrate.ts';
import { createPostgresStores } from '../adapters/postgres/stores.ts';
import { createWakeHints } from '../adapters/postgres/wake-hints.ts';
import { createSteeringSandbox } from '../adapters/sandbox/steering-sandbox.ts';
import { createTaskSandbox } from '../adapters/sandbox/task-sandbox.ts';
import { callbackKeyOf, tokenSecretOf } from './callback-key.ts';
import type { Config } from './config.ts';
import { compose } from './container.ts';
import type { Log } from './log.ts';
import { createLoops } from './roles.ts';
import { TOKENS } from './tokens.ts';
import { VERSION } from './version.ts';

/** How long a stop waits for calls to the outside that are under way. */
const CALL_DRAIN_MS = 5_000;

export type RunningServer = Readonly<{
  /** Undefined where this process has no api role. */
  url: string | undefined;
  stop(): Promise<void>;
}>;

export type ServerOptions = Readonly<{
  config: Config;
  databaseUrl: string;
  host: string;
  access: AccessPolicy;
  log: Log;
  /** Namespace to make when it is missing; `rondo dev` has one from the start. */
  seedNamespace: string | undefined;
  /** Instead of those of the configuration. */
  secretKeys?: readonly SealKey[];
  /** Where calls may go unless the configuration says otherwise. */
  networks: ReachableNetworks;
}>;

/** Brings the schema up to date, builds everything over the database and starts the roles of this process. */
export const startServer = async (options: ServerOptions): Promise<RunningServer> => {
  const { config, databaseUrl, log } = options;
  await migrate({ url: databaseUrl, log: (message) => log.info(message) });
  if (!config.allowUnsafeDurability) await assertDurable(databaseUrl);
  const stores = await createPostgresStores({
    url: databaseUrl,
    poolMax: config.poolMax,
    blobs: config.blobFolder === undefined ? undefined : createBlobFiles(config.blobFolder),
    allowUnsafeDurability: config.allowUnsafeDurability,
    log: (message) => log.warn(message),
  });
  const wake = await createWakeHints({ url: databaseUrl, notify: config.notify, log: (message) => log.warn(message) });
  const sandbox = createTaskSandbox({ workersMax: config.sandboxThreads });
  const http = createGuardedHttp({
    networks: config.outboundNetworks ?? options.networks,
    hosts: config.outboundHosts,
  });
  const datasources = openDatasources(config.datasources);
  const container = compose({
    ...stores,
    log,
    clock: systemClock,
    wake,
    steering: await createSteeringSandbox(),
    sandbox,
    seal: createSecretSeal(options.secretKeys ?? config.secretKeys),
    outbound: { http, datasources, slots: config.callsMax, drainMs: CALL_DRAIN_MS },
    callbackKey: await callbackKeyOf(stores.access),
    tokenSecrets: config.tokenSecrets ?? [await tokenSecretOf(stores.access)],
    foldCacheBytesMax: config.foldCacheBytesMax,
    circuitBreakers: config.circuitBreakers,
    stepsOnReport: config.roles.has('decider'),
  });
  if (options.seedNamespace !== undefined) await stores.access.createNamespace(options.seedNamespace as never);
  const loops = createLoops(container, config.roles, () => ensurePartitions({ url: databaseUrl }));
  for (const loop of loops) loop.start();
  const server = config.roles.has('api') ? await startHttp(options, container.resolve(TOKENS.useCases)) : undefined;
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    // Polls are answered and leases given back first; then the loops end their batch; then the connections go.
    await server?.stop();
    await Promise.all(loops.map((loop) => loop.stop()));
    container.resolve(TOKENS.delayed).close();
    await sandbox.close();
    await http.close();
    await datasources.close();
    await wake.close();
    await stores.close();
  };
  return {
    url: server?.url,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
};

const startHttp = (
  { config, host, access, log }: ServerOptions,
  useCases: Parameters<typeof createHttpApp>[0]['useCases'],
): Promise<HttpServer> =>
  startHttpServer({
    app: createHttpApp({ useCases, access, log, limits: HTTP_LIMITS, version: VERSION }),
    host,
    port: config.port,
  });
