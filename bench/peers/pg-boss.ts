import { closedLoop, load, type Peer, RunNotes } from './peer.ts';

type Data = Readonly<{ run: string; n: number; steps: number }>;
type Boss = Readonly<{
  on(event: 'error', listener: (error: Error) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string, options?: object): Promise<void>;
  send(name: string, data: Data): Promise<unknown>;
  work(
    name: string,
    options: object,
    handler: (jobs: readonly Readonly<{ data: Data }>[]) => Promise<void>,
  ): Promise<string>;
  stop(options: object): Promise<void>;
}>;
type Package = Readonly<{ PgBoss: new (options: object) => Boss }>;

const QUEUE = 'step';
const BATCH = 100;

/** A queue, not an engine: each step is a job that sends the next one. Woken by NOTIFY, in batches. */
export const pgBoss: Peer = {
  name: 'pg-boss (queue)',
  start: async (url) => {
    const { PgBoss } = await load<Package>('pg-boss');
    const boss = new PgBoss({ connectionString: url, useListenNotify: true });
    boss.on('error', (error) => console.error(error.message));
    await boss.start();
    await boss.createQueue(QUEUE, { notify: true });
    let notes = new RunNotes();
    const endings = new Map<string, () => void>();
    const options = { batchSize: BATCH, pollingIntervalSeconds: 0.5 };
    await boss.work(QUEUE, options, async (jobs) => {
      const done = jobs.map(async ({ data: { run, n, steps } }) => {
        notes.step(run, n);
        if (n < steps) await boss.send(QUEUE, { run, n: n + 1, steps });
        else endings.get(run)?.();
      });
      await Promise.all(done);
    });
    return {
      run: (order) => {
        notes = new RunNotes();
        return closedLoop(order, notes, async (run) => {
          const ended = new Promise<void>((resolve) => endings.set(run, resolve));
          await boss.send(QUEUE, { run, n: 1, steps: order.steps });
          await ended;
          endings.delete(run);
        });
      },
      stop: () => boss.stop({ graceful: false }),
    };
  },
};
