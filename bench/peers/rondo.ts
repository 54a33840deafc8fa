import { migrate } from '../../src/adapters/postgres/migrate.ts';
import type { BenchDatabase } from '../database.ts';
import { chain } from '../definitions.ts';
import type { Door } from '../doors/door.ts';
import { withLibrary } from '../doors/http.ts';
import { inProcess } from '../doors/in-process.ts';
import { TaskClock } from '../task-clock.ts';
import { closedLoop, type Order, type Peer, RunNotes, type Samples } from './peer.ts';

/** Rondo itself by one of its doors. A run has ended when the report of its last task is answered. */
const rondo = (name: string, door: Door): Peer => ({
  name,
  start: async (url) => {
    await migrate({ url });
    const open = await door.open({ url } as BenchDatabase);
    let next = 0;
    const run = async (order: Order): Promise<Samples> => {
      const definition = chain(order.steps);
      await open.register(definition);
      const clock = new TaskClock(order.steps);
      const stopWorkers = await open.work(clock);
      const samples = await closedLoop(order, new RunNotes(), async () => {
        const id = next;
        next += 1;
        const ended = clock.end(id);
        clock.startSent(id);
        await open.start(definition.name, { run: id });
        await ended;
      });
      await stopWorkers();
      const { firsts, steps } = clock.samples();
      return { ...samples, firsts: [...firsts], steps: [...steps] };
    };
    return { run, stop: () => open.close() };
  },
});

export const rondoInProcess = rondo('rondo in-process', inProcess);
export const rondoHttp = rondo('rondo /v1, worker library', withLibrary);
