import { createWorker } from 'rondo/worker';
import { markOf, type TaskClock } from '../task-clock.ts';
import { type Door, outputOf, QUEUE, type StopWorkers } from './door.ts';
import { type Send, sender, serve } from './server.ts';

export const V1 = '/v1/ns/default';

export type StartWorkers = (url: string, send: Send, clock: TaskClock) => Promise<StopWorkers>;

/** A server process; runs are started one a request, and their tasks done by such workers in this process. */
export const httpDoor = (name: string, startWorkers: StartWorkers): Door => ({
  name,
  startWidth: 50,
  open: async (database) => {
    const server = await serve(database);
    const { send, close } = sender(server.url);
    return {
      register: async (definition) => {
        await send('POST', `${V1}/definitions/workflows`, definition);
      },
      start: async (workflow, input) => {
        await send('POST', `${V1}/executions/${workflow}`, { input });
      },
      work: (clock) => startWorkers(server.url, send, clock),
      pid: server.pid,
      close: async () => {
        close();
        await server.stop();
      },
    };
  },
});

const LIBRARY_CONCURRENCY = 200;
/** The library does not tell when a report was answered: by then it was, on a machine that is not busy. */
const REPORT_MS = 5;

/** The worker library as its users have it; a task is reported when its handler is done, and the library does the rest. */
export const withLibrary: Door = httpDoor('/v1 with the worker library', async (url, _send, clock) => {
  const worker = createWorker({
    url,
    concurrency: LIBRARY_CONCURRENCY,
    onProblem: ({ error }) => clock.fail(error),
    handlers: {
      [QUEUE]: ({ input }) => {
        const mark = markOf(input);
        clock.leased(mark);
        clock.reportSent(mark);
        setTimeout(() => clock.reportAnswered(mark), REPORT_MS);
        return outputOf(input);
      },
    },
  });
  worker.start();
  return () => worker.stop();
});

const SLOTS = 40;
const POLL_WAIT_MS = 5_000;

/** Takes a task and ends it, and those that come with the answer; resolves when there is none. */
type Turn = (send: Send, clock: TaskClock, signal: AbortSignal) => Promise<void>;

/** So many slots that do one task at a time each. */
const slots =
  (turn: Turn): StartWorkers =>
  async (_url, send, clock) => {
    const stopping = new AbortController();
    const slot = async (): Promise<void> => {
      while (!stopping.signal.aborted) {
        try {
          await turn(send, clock, stopping.signal);
        } catch (error) {
          if (!stopping.signal.aborted) return clock.fail(error);
        }
      }
    };
    const all = Array.from({ length: SLOTS }, slot);
    return async () => {
      stopping.abort();
      await Promise.all(all);
    };
  };

const turnAtV1: Turn = async (send, clock, signal) => {
  const lease = { workerId: 'bench', count: 1, waitSeconds: POLL_WAIT_MS / 1_000 };
  const { tasks } = JSON.parse((await send('POST', `${V1}/queues/${QUEUE}/lease`, lease, signal)).text);
  for (const { taskId, leaseToken, input } of tasks) {
    const mark = markOf(input);
    clock.leased(mark);
    const report = { leaseToken, status: 'COMPLETED', output: outputOf(input) };
    clock.reportSent(mark);
    await send('POST', `${V1}/tasks/${taskId}/report`, report);
    clock.reportAnswered(mark);
  }
};

const turnAtApi: Turn = async (send, clock, signal) => {
  const poll = `/api/tasks/poll/batch/${QUEUE}?workerid=bench&count=1&timeout=${POLL_WAIT_MS}`;
  const [first] = JSON.parse((await send('GET', poll, undefined, signal)).text);
  for (let task = first; task !== undefined; ) {
    const { taskId, workflowInstanceId, inputData } = task;
    const mark = markOf(inputData);
    clock.leased(mark);
    const outputData = outputOf(inputData);
    clock.reportSent(mark);
    const result = { taskId, workflowInstanceId, workerId: 'bench', status: 'COMPLETED', outputData };
    const answer = await send('POST', '/api/tasks/update-v2', result);
    clock.reportAnswered(mark);
    task = answer.status === 200 ? JSON.parse(answer.text) : undefined;
  }
};

/** The same work through both doors by the same client, a task at a time: the ratio is what Conductor's door costs. */
export const oneTaskPolls: Door = httpDoor('/v1 with one-task polls', slots(turnAtV1));
export const oneTaskPollsOfApi: Door = httpDoor('/api with one-task polls', slots(turnAtApi));
