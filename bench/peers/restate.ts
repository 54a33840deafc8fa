import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sender } from '../doors/server.ts';
import { pauseMs } from '../measure.ts';
import { closedLoop, load, type Peer, RunNotes } from './peer.ts';

type Context = Readonly<{ run(name: string, work: () => number): Promise<number> }>;
type Input = Readonly<{ run: string; steps: number }>;
type Sdk = Readonly<{
  workflow(definition: object): object;
  serve(options: object): Promise<number>;
}>;

const READY_MS_MAX = 60_000;
const READY_PAUSE_MS = 100;

/** Its own server with its own log; PostgreSQL is not used. Workflows through the ingress, which answers with the result. */
export const restate: Peer = {
  name: 'Restate',
  start: async () => {
    // Read when the SDK is loaded: it would print lines for each run.
    process.env.RESTATE_LOGGING = 'ERROR';
    const sdk = await load<Sdk>('@restatedev/restate-sdk');
    const [node, ingress, admin, service] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
    const home = mkdtempSync(join(tmpdir(), 'rondo-bench-restate-'));
    const server = spawn(binary(), [], {
      stdio: 'ignore',
      env: {
        ...process.env,
        RESTATE_BASE_DIR: home,
        RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
        RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
        RESTATE_LOG_FILTER: 'error',
        DO_NOT_TRACK: '1',
      },
    });
    const exited = once(server, 'exit');
    let notes = new RunNotes();
    const chain = sdk.workflow({
      name: 'chain',
      handlers: {
        run: async (context: Context, { run, steps }: Input) => {
          for (let n = 1; n <= steps; n += 1) {
            await context.run(`s${n}`, () => {
              notes.step(run, n);
              return n;
            });
          }
        },
      },
    });
    await sdk.serve({ services: [chain], port: service });
    const operator = sender(`http://127.0.0.1:${admin}`);
    await untilAnswered(() => operator.send('GET', '/health'));
    await untilAnswered(() => operator.send('POST', '/deployments', { uri: `http://127.0.0.1:${service}` }));
    operator.close();
    const client = sender(`http://127.0.0.1:${ingress}`);
    return {
      run: (order) => {
        notes = new RunNotes();
        return closedLoop(order, notes, async (run) => {
          await client.send('POST', `/chain/${run}/run`, { run, steps: order.steps });
        });
      },
      stop: async () => {
        client.close();
        server.kill('SIGTERM');
        await exited;
        rmSync(home, { recursive: true, force: true });
      },
    };
  },
};

const binary = (): string => {
  const packages = createRequire(createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json'));
  return packages.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);
};

const untilAnswered = async (call: () => Promise<unknown>): Promise<void> => {
  const deadline = performance.now() + READY_MS_MAX;
  for (;;) {
    try {
      await call();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await pauseMs(READY_PAUSE_MS);
    }
  }
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
};
