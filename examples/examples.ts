import type { Worker } from 'rondo/worker';
import type { Connection } from './connection.ts';
import { createFanOutWorker } from './fan-out/worker.ts';
import { createLoopWorker } from './loop/worker.ts';
import { createOrderWorker } from './order/worker.ts';

export type Example = Readonly<{
  /** Folder beside this file. */
  folder: string;
  /** Files in the folder, in the order in which they are registered. */
  workflows: readonly string[];
  createWorker: (connection: Connection) => Worker;
  runs: readonly Readonly<{ workflow: string; title: string; input: object }>[];
}>;

const order = { orderId: 'A1', total: 40, card: 'ok', items: ['tea', 'cup'] };

export const EXAMPLES: Readonly<Record<string, Example>> = {
  order: {
    folder: 'order',
    workflows: ['failure-workflow.json', 'workflow.json'],
    createWorker: createOrderWorker,
    runs: [
      { workflow: 'order', title: 'a small order', input: order },
      { workflow: 'order', title: 'a large order, reviewed', input: { ...order, orderId: 'A2', total: 12_000 } },
      { workflow: 'order', title: 'a card that is declined', input: { ...order, orderId: 'A3', card: 'declined' } },
    ],
  },
  'fan-out': {
    folder: 'fan-out',
    workflows: ['workflow.json'],
    createWorker: createFanOutWorker,
    runs: [{ workflow: 'sum_of_squares', title: 'a thousand branches', input: { count: 1000 } }],
  },
  loop: {
    folder: 'loop',
    workflows: ['workflow.json'],
    createWorker: createLoopWorker,
    runs: [{ workflow: 'poll_job', title: 'a job that is ready at the third question', input: { readyAfter: 3 } }],
  },
};
