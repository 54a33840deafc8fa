import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { type Cluster, readIfPresent } from './cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

// The range is below the one from which systems take the ports of outgoing connections (32768 on Linux). A client that
// reconnects to a port in that range while the server is down can be given this very port, and then holds it.
const PORT_MIN = 20_000;
const PORT_MAX = 32_000;
const TRIES_MAX = 50;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => probe.close(() => resolve(true)));
  });

const findFreePort = async (): Promise<number> => {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = randomInt(PORT_MIN, PORT_MAX);
    if (await isFree(port)) return port;
  }
  throw new EmbeddedPostgresError(
    'PORT_UNAVAILABLE',
    `No free port was found between ${PORT_MIN} and ${PORT_MAX} on 127.0.0.1. Stop some programs, or set DATABASE_URL.`,
  );
};

/** The port of the last start, so that it stays the same as long as nobody else takes it; else a free one. */
export async function choosePort(cluster: Cluster, log: (message: string) => void): Promise<number> {
  const remembered = Number(await readIfPresent(cluster.portFile));
  if (Number.isInteger(remembered) && remembered > 0) {
    if (await isFree(remembered)) return remembered;
    log(`another program uses port ${remembered}: PostgreSQL gets a new one`);
  }
  return findFreePort();
}

/** Notes the port for the next start. */
export const rememberPort = (cluster: Cluster, port: number): Promise<void> => writeFile(cluster.portFile, `${port}\n`);
