import { type Command, Option } from 'commander';
import type {
  BulkAnswerBody,
  BulkBody,
  ControlBody,
  ExecutionDetailBody,
  ExecutionPageBody,
  ExecutionSummaryBody,
  ReplayAnswerBody,
  SearchBody,
  SignalAnswerBody,
  SignalBody,
  TerminateBody,
} from '../../../client/wire.ts';
import { positiveInteger } from '../arguments.ts';
import { describeEvent } from '../describe-event.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import { readObjectArgument } from '../json-input.ts';
import { collectPages } from '../pages.ts';
import type { Printer } from '../printer.ts';
import type { Session } from '../session.ts';
import { escapeText } from '../terminal-text.ts';
import { addOperatorCommands } from './operators.ts';
import { type ReplayFile, replayHistoryFile } from './replay.ts';

const LIST_ITEMS_DEFAULT = 50;
const STATUSES = ['RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED'] as const;
const SIGNAL_STATUSES = ['COMPLETED', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR'] as const;

type ListOptions = Readonly<{
  status?: (typeof STATUSES)[number][];
  name?: string;
  correlationId?: string;
  limit: number;
}>;

type SignalOptions = Readonly<{
  ref?: string;
  status: (typeof SIGNAL_STATUSES)[number];
  output?: string;
  wait?: number;
}>;

type ReplayOptions = Readonly<{
  version?: number;
  definition?: string;
  taskDefinition?: readonly string[];
  workflowId?: string;
}>;

const CONTROLS = [
  ['pause', 'schedule nothing new until it is resumed'],
  ['resume', 'go on with a paused run'],
  ['retry', 'reopen a failed run at its failed tasks'],
  ['delete', 'remove a run that has ended, with all that is known of it'],
] as const;

type Control = (typeof CONTROLS)[number][0];

export const addExecutionCommands = (program: Command, session: Session): void => {
  const executions = program.command('executions').description('runs');
  executions
    .command('list')
    .description('runs, newest first')
    .addOption(new Option('--status <status...>', 'only these').choices(STATUSES))
    .option('--name <name>', 'of the definition; a prefix when it ends in *')
    .option('--correlation-id <id>')
    .option('--limit <count>', 'at most so many', positiveInteger, LIST_ITEMS_DEFAULT)
    .action((options: ListOptions, command: Command) => list(session, command, options));
  executions
    .command('get <id>')
    .description('a run, its tasks, and why nothing moves')
    .action((id: string, _options: object, command: Command) => get(session, command, id));
  for (const [name, description] of CONTROLS) {
    executions
      .command(`${name} <id...>`)
      .description(`${description}; several at once: one line each`)
      .option('--reason <text>', 'kept in history')
      .action((ids: readonly string[], options: { reason?: string }, command: Command) =>
        control(session, command, ids, name, options.reason),
      );
  }
  addOperatorCommands(executions, session);
  executions
    .command('terminate <id...>')
    .description('end a run and cancel what is open; several at once: one line each')
    .option('--reason <text>', 'kept in history')
    .option('--failure-workflow', 'start its failure workflow too')
    .action((ids: readonly string[], options: { reason?: string; failureWorkflow?: boolean }, command: Command) =>
      terminate(session, command, ids, options),
    );
  executions
    .command('signal <id>')
    .description('complete a task that waits for a signal')
    .option('--ref <ref>', 'reference of the task; the first that waits unless told')
    .addOption(new Option('--status <status>', 'how the task ends').choices(SIGNAL_STATUSES).default('COMPLETED'))
    .option('--output <json>', 'a JSON object, @file, or - for stdin')
    .option('--wait <seconds>', 'until the run has ended or waits again', positiveInteger)
    .action((id: string, options: SignalOptions, command: Command) => signal(session, command, id, options));
};

/** `rondo replay`: a command of its own, as it is about history. */
export const addReplayCommand = (program: Command, session: Session, replayFile: ReplayFile): void => {
  program
    .command('replay <id>')
    .description('derive a run again from its log, or the history in a file; nothing is carried out')
    .option('--version <number>', 'a preview with another version of the definition', positiveInteger)
    .option(
      '--definition <file>',
      'the first argument is a file with a history: replay it against this definition, offline',
    )
    .option('--task-definition <file...>', 'of the tasks that the definition names')
    .option('--workflow-id <id>', 'of the run, where the file does not name it')
    .action((id: string, options: ReplayOptions, command: Command) => {
      const { definition, taskDefinition: taskDefinitions = [], workflowId } = options;
      if (definition === undefined) return replay(session, command, id, options);
      return replayHistoryFile(session, command, id, { definition, taskDefinitions, workflowId }, replayFile);
    });
};

const pathOf = (id: string, verb = ''): string => `/executions/${encodeURIComponent(id)}${verb}`;

const list = async (session: Session, command: Command, options: ListOptions): Promise<void> => {
  const client = session.client(command);
  const printer = session.printer(command);
  const { status, name, correlationId } = options;
  const executions = await collectPages(options.limit, async (limit, cursor) => {
    const body: SearchBody = {
      limit,
      ...(status === undefined ? {} : { statuses: status }),
      ...(name === undefined ? {} : { name }),
      ...(correlationId === undefined ? {} : { correlationId }),
      ...(cursor === undefined ? {} : { cursor }),
    };
    const page = await client.call<ExecutionPageBody>('POST', '/executions/search', { body, idempotent: true });
    return { items: page.executions, nextCursor: page.nextCursor };
  });
  printer.result({ executions }, () =>
    printer.table(
      ['ID', 'NAME', 'VERSION', 'STATUS', 'STARTED', 'ENDED', 'REASON'],
      executions.map((run) => [
        run.workflowId,
        run.name,
        run.version,
        { status: run.status },
        run.startedAt,
        run.endedAt,
        run.reason,
      ]),
    ),
  );
};

const get = async (session: Session, command: Command, id: string): Promise<void> => {
  const printer = session.printer(command);
  const detail = await session.client(command).call<ExecutionDetailBody>('GET', pathOf(id));
  printer.result(detail, () => printDetail(printer, detail));
};

const printDetail = (printer: Printer, detail: ExecutionDetailBody): void => {
  const { workflowId, name, version, status, reason, waitingFor, tasks, output } = detail;
  const title = `${workflowId}  ${escapeText(name)} ${version}  ${printer.status(status)}`;
  printer.line(reason === undefined ? title : `${title}  ${escapeText(reason)}`);
  printer.table(
    ['TASK', 'ITERATION', 'ATTEMPT', 'TYPE', 'STATUS', 'WORKER', 'REASON'],
    tasks.map((task) => [
      task.taskRef,
      task.iteration === 0 ? undefined : task.iteration,
      task.attempt,
      task.type,
      { status: task.status },
      task.workerId,
      task.reason,
    ]),
  );
  for (const { taskRef, why } of waitingFor) printer.line(`waiting for ${escapeText(taskRef)}: ${escapeText(why)}`);
  if (output !== undefined) printer.pretty(output);
};

const control = async (
  session: Session,
  command: Command,
  ids: readonly string[],
  action: Control,
  reason: string | undefined,
): Promise<void> => {
  const [id = ''] = ids;
  const given = reason === undefined ? {} : { reason };
  if (ids.length > 1 || action === 'delete') return controlMany(session, command, { action, ids: [...ids], ...given });
  await act(session, command, pathOf(id, `/${action}`), given);
};

const terminate = async (
  session: Session,
  command: Command,
  ids: readonly string[],
  { reason, failureWorkflow }: { reason?: string; failureWorkflow?: boolean },
): Promise<void> => {
  const [id = ''] = ids;
  const given = reason === undefined ? {} : { reason };
  if (ids.length === 1) {
    const body: TerminateBody = {
      ...given,
      ...(failureWorkflow === undefined ? {} : { triggerFailureWorkflow: failureWorkflow }),
    };
    return act(session, command, pathOf(id, '/terminate'), body);
  }
  if (failureWorkflow === true) throw new CliError('USAGE', '--failure-workflow goes with one id');
  await controlMany(session, command, { action: 'terminate', ids: [...ids], ...given });
};

const act = async (session: Session, command: Command, path: string, body: ControlBody | TerminateBody) => {
  const client = session.client(command);
  printSummary(session.printer(command), await client.call<ExecutionSummaryBody>('POST', path, { body }));
};

/** One line for each run; the command has failed when one was refused. */
const controlMany = async (session: Session, command: Command, body: BulkBody): Promise<void> => {
  const printer = session.printer(command);
  const answer = await session.client(command).call<BulkAnswerBody>('POST', '/executions/bulk', { body });
  if (answer.refused > 0) session.exitCode = EXIT.failed;
  printer.result(answer, () => {
    for (const each of answer.answers) {
      const outcome =
        each.outcome === 'refused'
          ? `${each.error}  ${escapeText(each.message)}`
          : each.status === undefined
            ? 'deleted'
            : printer.status(each.status);
      printer.line(`${escapeText(each.id)}  ${outcome}`);
    }
  });
};

/** Exit code 1: it did not come out as it is on record. */
const replay = async (
  session: Session,
  command: Command,
  id: string,
  { version }: Readonly<{ version?: number }>,
): Promise<void> => {
  const printer = session.printer(command);
  const body = version === undefined ? {} : { version };
  const answer = await session
    .client(command)
    .call<ReplayAnswerBody>('POST', pathOf(id, '/replay'), { body, idempotent: true });
  const { same, difference, preview, recorded } = answer;
  if (!same) session.exitCode = EXIT.failed;
  printer.result(answer, () => {
    const how = `${escapeText(answer.name)} ${answer.version}`;
    printer.line(
      same ? `${recorded} events follow again from ${how}` : `${how} goes another way at event ${difference?.seq}`,
    );
    if (difference?.recorded !== undefined) printer.line(`recorded ${describeEvent(printer, difference.recorded)}`);
    if (difference?.derived !== undefined) printer.line(`derived  ${describeEvent(printer, difference.derived)}`);
    for (const event of preview?.events ?? []) printer.line(describeEvent(printer, event));
    if (preview !== undefined && preview.unused.length > 0) {
      printer.line(`without a place in it: the events ${preview.unused.join(', ')} of the record`);
    }
  });
};

const signal = async (session: Session, command: Command, id: string, options: SignalOptions): Promise<void> => {
  const { ref, status, output, wait } = options;
  const body: SignalBody = {
    status,
    ...(ref === undefined ? {} : { taskRef: ref }),
    ...(wait === undefined ? {} : { waitSeconds: wait }),
    ...(output === undefined ? {} : { output: await readObjectArgument(session.io, output, '--output') }),
  };
  const client = session.client(command);
  const printer = session.printer(command);
  const answer = await client.call<SignalAnswerBody>('POST', pathOf(id, '/signal'), { body });
  if (!answer.delivered && !printer.json) printer.note('kept until the task begins');
  printSummary(printer, answer);
};

const printSummary = (printer: Printer, summary: ExecutionSummaryBody): void =>
  printer.result(summary, () => printer.line(`${summary.workflowId}  ${printer.status(summary.status)}`));
