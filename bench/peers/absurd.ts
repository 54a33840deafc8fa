import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { closedLoop, load, type Peer, RunNotes } from './peer.ts';

type Context = Readonly<{ step(name: string, work: () => Promise<number>): Promise<number> }>;
type Params = Readonly<{ run: string; steps: number }>;
type App = Readonly<{
  createQueue(name: string): Promise<void>;
  registerTask(options: object, handler: (params: Params, context: Context) => Promise<object>): void;
  spawn(name: string, params: Params): Promise<unknown>;
  startWorker(options: object): Promise<Readonly<{ close(): Promise<void> }>>;
  close(): Promise<void>;
}>;
type Sdk = Readonly<{ Absurd: new (options: object) => App }>;

const QUEUE = 'bench';
const POLL_SECONDS = 0.01;
const CONCURRENCY = 50;

/** One worker in this process. A run has ended when its function has returned, just before that is on record. */
export const absurd: Peer = {
  name: 'Absurd',
  start: async (url) => {
    const { Absurd } = await load<Sdk>('absurd-sdk');
    await installSchema(url);
    const app = new Absurd({ db: url, queueName: QUEUE });
    await app.createQueue(QUEUE);
    let notes = new RunNotes();
    const endings = new Map<string, () => void>();
    app.registerTask({ name: 'chain' }, async ({ run, steps }, context) => {
      for (let n = 1; n <= steps; n += 1) {
        const step = async (): Promise<number> => {
          notes.step(run, n);
          return n;
        };
        await context.step(`s${n}`, step);
      }
      endings.get(run)?.();
      endings.delete(run);
      return {};
    });
    const worker = await app.startWorker({
      concurrency: CONCURRENCY,
      batchSize: CONCURRENCY,
      pollInterval: POLL_SECONDS,
    });
    return {
      run: (order) => {
        notes = new RunNotes();
        return closedLoop(order, notes, async (run) => {
          const ended = new Promise<void>((resolve) => endings.set(run, resolve));
          await app.spawn('chain', { run, steps: order.steps });
          await ended;
        });
      },
      stop: async () => {
        await worker.close();
        await app.close();
      },
    };
  },
};

/** Its tables and functions are not in its npm package: from the file that ABSURD_SQL names, or by its tool where that is installed. */
const installSchema = async (url: string): Promise<void> => {
  const file = process.env.ABSURD_SQL;
  if (file === undefined) {
    try {
      execFileSync('absurdctl', ['init', '-d', url], { stdio: 'ignore' });
      return;
    } catch (cause) {
      throw new Error('needs absurdctl on the PATH, or the path of absurd.sql in ABSURD_SQL', { cause });
    }
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(readFileSync(file, 'utf8'));
  } finally {
    await client.end();
  }
};
