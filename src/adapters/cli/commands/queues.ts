import type { Command } from 'commander';
import type { QueueListBody } from '../../../client/wire.ts';
import type { Session } from '../session.ts';

export const addQueuesCommand = (program: Command, session: Session): void => {
  program
    .command('queues')
    .description('what waits for workers')
    .action(async (_options: object, command: Command) => {
      const printer = session.printer(command);
      const answer = await session.client(command).call<QueueListBody>('GET', '/queues');
      printer.result(answer, () =>
        printer.table(
          ['QUEUE', 'READY', 'LEASED', 'DELAYED', 'OLDEST READY'],
          answer.queues.map(({ queue, ready, leased, delayed, oldestReadyAgeMs }) => [
            queue,
            ready,
            leased,
            delayed,
            oldestReadyAgeMs === undefined ? undefined : `${(oldestReadyAgeMs / 1000).toFixed(1)} s`,
          ]),
        ),
      );
    });
};
