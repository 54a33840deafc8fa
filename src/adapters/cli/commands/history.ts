import type { Command } from 'commander';
import type { HistoryEventBody, HistoryPageBody } from '../../../client/wire.ts';
import { wholeNumber } from '../arguments.ts';
import { describeEvent } from '../describe-event.ts';
import { followExecution } from '../follow-execution.ts';
import type { Session } from '../session.ts';
import { terminalJson } from '../terminal-text.ts';

const EVENTS_PER_PAGE = 500;

export const addHistoryCommands = (program: Command, session: Session): void => {
  program
    .command('history <id>')
    .description('the facts of a run so far')
    .option('--after <seq>', 'only those after this one', wholeNumber, 0)
    .action((id: string, options: { after: number }, command: Command) => history(session, command, id, options.after));
  program
    .command('tail <id>')
    .description('the facts of a run as they happen, until it ends; with --json one a line')
    .option('--after <seq>', 'only those after this one', wholeNumber, 0)
    .action((id: string, options: { after: number }, command: Command) => tail(session, command, id, options.after));
};

const history = async (session: Session, command: Command, id: string, after: number): Promise<void> => {
  const client = session.client(command);
  const printer = session.printer(command);
  const path = `/executions/${encodeURIComponent(id)}/history`;
  const events: HistoryEventBody[] = [];
  for (let cursor: string | undefined = String(after); cursor !== undefined; ) {
    const query = { after: cursor, limit: EVENTS_PER_PAGE };
    const page: HistoryPageBody = await client.call<HistoryPageBody>('GET', path, { query });
    if (printer.json) events.push(...page.events);
    else for (const event of page.events) printer.line(describeEvent(printer, event));
    cursor = page.nextCursor;
  }
  if (printer.json) printer.line(terminalJson({ workflowId: id, events }));
};

const tail = async (session: Session, command: Command, id: string, after: number): Promise<void> => {
  const printer = session.printer(command);
  const following = followExecution(session.client(command), id, {
    after,
    signal: new AbortController().signal,
    patient: false,
    onLost: (seq) => printer.note(`connection lost, resuming after ${seq}`),
  });
  for await (const followed of following) {
    if (printer.json) printer.line(terminalJson(followed.kind === 'event' ? followed.event : followed.note));
    else if (followed.kind === 'event') printer.line(describeEvent(printer, followed.event));
    else printer.line(printer.paint('dim', `       ${terminalJson(followed.note)}`));
  }
};
