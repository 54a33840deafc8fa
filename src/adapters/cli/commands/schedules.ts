import type { Command } from 'commander';
import type {
  FiredScheduleBody,
  PreviewBody,
  ScheduleBody,
  SchedulePageBody,
  SchedulePutBody,
  ScheduleRunPageBody,
} from '../../../client/wire.ts';
import { positiveInteger } from '../arguments.ts';
import { CliError } from '../exit-codes.ts';
import { readDocuments } from '../json-input.ts';
import { collectPages } from '../pages.ts';
import type { Session } from '../session.ts';
import { escapeText } from '../terminal-text.ts';

const LIST_ITEMS_DEFAULT = 100;
const RUNS_DEFAULT = 20;
const PREVIEW_DEFAULT = 5;

const pathOf = (name: string, verb = ''): string => `/schedules/${encodeURIComponent(name)}${verb}`;
const timesOf = ({ crons }: ScheduleBody): string =>
  crons.map(({ cron, timezone }) => `${cron} (${timezone})`).join(', ');

export const addScheduleCommands = (program: Command, session: Session): void => {
  const schedules = program.command('schedules').description('recurring starts');
  schedules
    .command('list')
    .description('with the time of the next run')
    .option('--limit <count>', 'at most so many', positiveInteger, LIST_ITEMS_DEFAULT)
    .action((options: { limit: number }, command: Command) => list(session, command, options.limit));
  schedules
    .command('get <name>')
    .action((name: string, _options: object, command: Command) => get(session, command, name));
  schedules
    .command('put <file...>')
    .description('register the schedules in JSON files, each holding one or a list; each has a name')
    .action((files: string[], _options: object, command: Command) => put(session, command, files));
  schedules
    .command('delete <name>')
    .action((name: string, _options: object, command: Command) => remove(session, command, name));
  schedules
    .command('pause <name>')
    .option('--reason <text>', 'why')
    .action((name: string, { reason }: { reason?: string }, command: Command) =>
      control(session, command, name, '/pause', reason === undefined ? {} : { reason }),
    );
  schedules
    .command('resume <name>')
    .action((name: string, _options: object, command: Command) => control(session, command, name, '/resume'));
  schedules
    .command('fire <name>')
    .description('start a run now')
    .action((name: string, _options: object, command: Command) => fire(session, command, name));
  schedules
    .command('preview <name>')
    .description('when it fires next')
    .option('--count <count>', 'so many times', positiveInteger, PREVIEW_DEFAULT)
    .action((name: string, options: { count: number }, command: Command) =>
      preview(session, command, name, options.count),
    );
  schedules
    .command('runs <name>')
    .description('what became of its firings, newest first')
    .option('--limit <count>', 'at most so many', positiveInteger, RUNS_DEFAULT)
    .action((name: string, options: { limit: number }, command: Command) =>
      runs(session, command, name, options.limit),
    );
};

const list = async (session: Session, command: Command, limit: number): Promise<void> => {
  const client = session.client(command);
  const printer = session.printer(command);
  const schedules = await collectPages(limit, async (count, cursor) => {
    const page = await client.call<SchedulePageBody>('GET', '/schedules', { query: { limit: count, cursor } });
    return { items: page.schedules, nextCursor: page.nextCursor };
  });
  printer.result({ schedules }, () =>
    printer.table(
      ['NAME', 'WORKFLOW', 'TIMES', 'NEXT RUN', 'STATE'],
      schedules.map((each) => [
        each.name,
        each.workflow.name,
        timesOf(each),
        each.nextRunAt,
        each.paused ? 'paused' : 'going',
      ]),
    ),
  );
};

const get = async (session: Session, command: Command, name: string): Promise<void> => {
  const found = await session.client(command).call<ScheduleBody>('GET', pathOf(name));
  const printer = session.printer(command);
  printer.result(found, () => printer.pretty(found));
};

/** The name stands beside what the API takes, so that a file says all of a schedule. */
const put = async (session: Session, command: Command, files: readonly string[]): Promise<void> => {
  const client = session.client(command);
  const printer = session.printer(command);
  const registered: { name: string; outcome: string; nextRunAt: string | undefined }[] = [];
  for (const { file, document } of await readDocuments(session.io, files)) {
    const { name, ...body } = (document ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof name !== 'string' || name === '') throw new CliError('INVALID_NAME', `${file}: a schedule needs a name`);
    const { outcome, nextRunAt } = await client.call<SchedulePutBody>('PUT', pathOf(name), { body });
    registered.push({ name, outcome, nextRunAt });
  }
  printer.result({ registered }, () =>
    printer.table(
      ['NAME', 'OUTCOME', 'NEXT RUN'],
      registered.map(({ name, outcome, nextRunAt }) => [name, outcome, nextRunAt]),
    ),
  );
};

const remove = async (session: Session, command: Command, name: string): Promise<void> => {
  await session.client(command).call('DELETE', pathOf(name));
  const printer = session.printer(command);
  printer.result({ deleted: name }, () => printer.line(`deleted: ${escapeText(name)}`));
};

const control = async (
  session: Session,
  command: Command,
  name: string,
  verb: string,
  body?: object,
): Promise<void> => {
  const after = await session
    .client(command)
    .call<ScheduleBody>('POST', pathOf(name, verb), { idempotent: true, ...(body === undefined ? {} : { body }) });
  const printer = session.printer(command);
  const next = after.nextRunAt ?? 'none';
  printer.result(after, () => printer.line(`${after.paused ? 'paused' : 'going'}, next run: ${next}`));
};

const fire = async (session: Session, command: Command, name: string): Promise<void> => {
  const fired = await session.client(command).call<FiredScheduleBody>('POST', pathOf(name, '/fire'));
  const printer = session.printer(command);
  printer.result(fired, () => printer.line(fired.workflowId));
};

const preview = async (session: Session, command: Command, name: string, count: number): Promise<void> => {
  const shown = await session.client(command).call<PreviewBody>('GET', pathOf(name, '/preview'), { query: { count } });
  const printer = session.printer(command);
  printer.result(shown, () => {
    for (const at of shown.runs) printer.line(at);
  });
};

const runs = async (session: Session, command: Command, name: string, limit: number): Promise<void> => {
  const client = session.client(command);
  const printer = session.printer(command);
  const made = await collectPages(limit, async (count, cursor) => {
    const query = { limit: count, cursor };
    const page = await client.call<ScheduleRunPageBody>('GET', pathOf(name, '/runs'), { query });
    return { items: page.runs, nextCursor: page.nextCursor };
  });
  printer.result({ runs: made }, () =>
    printer.table(
      ['SCHEDULED', 'STATE', 'RUN', 'REASON'],
      made.map(({ scheduledAt, state, workflowId, reason }) => [scheduledAt, state, workflowId, reason]),
    ),
  );
};
