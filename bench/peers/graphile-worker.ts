import { closedLoop, load, type Peer, RunNotes } from './peer.ts';

type Payload = Readonly<{ run: string; n: number; steps: number }>;
type AddJob = (task: string, payload: Payload) => Promise<unknown>;
type Runner = Readonly<{ addJob: AddJob; stop(): Promise<void> }>;
type Package = Readonly<{
  run(options: object): Promise<Runner>;
  Logger: new (factory: () => () => void) => object;
}>;

const CONCURRENCY = 10;
const LOCAL_QUEUE = 500;

/** A queue, not an engine: each step is a job that adds the next one. */
const graphile = (name: string, worker: object): Peer => ({
  name,
  start: async (url) => {
    const { run: start, Logger } = await load<Package>('graphile-worker');
    let notes = new RunNotes();
    const endings = new Map<string, () => void>();
    const step = async ({ run, n, steps }: Payload, { addJob }: Readonly<{ addJob: AddJob }>): Promise<void> => {
      notes.step(run, n);
      if (n < steps) await addJob('step', { run, n: n + 1, steps });
      else endings.get(run)?.();
    };
    const runner = await start({
      connectionString: url,
      noHandleSignals: true,
      logger: new Logger(() => () => undefined),
      taskList: { step },
      preset: { worker: { concurrentJobs: CONCURRENCY, ...worker } },
    });
    return {
      run: (order) => {
        notes = new RunNotes();
        return closedLoop(order, notes, async (run) => {
          const ended = new Promise<void>((resolve) => endings.set(run, resolve));
          await runner.addJob('step', { run, n: 1, steps: order.steps });
          await ended;
          endings.delete(run);
        });
      },
      stop: () => runner.stop(),
    };
  },
});

export const graphileWorker = graphile('graphile-worker (queue)', {});
export const graphileWorkerInBatches = graphile('graphile-worker (queue), in batches', {
  localQueue: { size: LOCAL_QUEUE },
  completeJobBatchDelay: 0,
});
