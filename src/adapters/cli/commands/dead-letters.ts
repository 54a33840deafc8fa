import type { Command } from 'commander';
import type { DeadLetterPageBody } from '../../../client/wire.ts';
import { positiveInteger } from '../arguments.ts';
import { collectPages } from '../pages.ts';
import type { Session } from '../session.ts';
import { escapeText } from '../terminal-text.ts';

const LIST_ITEMS_DEFAULT = 50;

export const addDeadLetterCommands = (program: Command, session: Session): void => {
  const letters = program.command('dead-letters').description('messages that were given up');
  letters
    .command('list')
    .description('with the reason, oldest first')
    .option('--limit <count>', 'at most so many', positiveInteger, LIST_ITEMS_DEFAULT)
    .action((options: { limit: number }, command: Command) => list(session, command, options.limit));
  letters
    .command('redrive <id...>')
    .description('deliver them again, as if never tried')
    .action((ids: string[], _options: object, command: Command) => forEach(session, command, ids, 'redriven'));
  letters
    .command('delete <id...>')
    .description('delete them: they are never delivered')
    .action((ids: string[], _options: object, command: Command) => forEach(session, command, ids, 'deleted'));
};

const list = async (session: Session, command: Command, limit: number): Promise<void> => {
  const printer = session.printer(command);
  const client = session.client(command);
  const deadLetters = await collectPages(limit, async (count, cursor) => {
    const query = { limit: count, cursor };
    const page = await client.call<DeadLetterPageBody>('GET', '/dead-letters', { query });
    return { items: page.deadLetters, nextCursor: page.nextCursor };
  });
  printer.result({ deadLetters }, () =>
    printer.table(
      ['ID', 'TOPIC', 'RUN', 'GIVEN UP', 'TRIES', 'REASON'],
      deadLetters.map(({ id, topic, workflowId, deadAt, attempts, reason }) => [
        id,
        topic,
        workflowId,
        deadAt,
        attempts,
        reason,
      ]),
    ),
  );
};

/** One after the other: the first that is refused ends the command, and says which it was. */
const forEach = async (
  session: Session,
  command: Command,
  ids: readonly string[],
  done: 'redriven' | 'deleted',
): Promise<void> => {
  const client = session.client(command);
  for (const id of ids) {
    const path = `/dead-letters/${encodeURIComponent(id)}`;
    if (done === 'redriven') await client.call('POST', `${path}/redrive`, { idempotent: false });
    else await client.call('DELETE', path);
  }
  session
    .printer(command)
    .result({ [done]: ids }, () => session.io.out(`${done}: ${ids.map(escapeText).join(', ')}\n`));
};
