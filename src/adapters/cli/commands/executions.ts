import { type Command, Option } from 'commander';
import type {
  ControlBody,
  ExecutionDetailBody,
  ExecutionPageBody,
  ExecutionSummaryBody,
  SearchBody,
  SignalAnswerBody,
  SignalBody,
  TerminateBody,
} from '../../../client/wire.ts';
import { positiveInteger } from '../arguments.ts';
import { readObjectArgument } from '../json-input.ts';
import { collectPages } from '../pages.ts';
import type { Printer } from '../printer.ts';
import type { Session } from '../session.ts';
import { escapeText } from '../terminal-text.ts';
import { addOperatorCommands } from './operators.ts';

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

const CONTROLS = [
  ['pause', 'schedule nothing new until it is resumed'],
  ['resume', 'go on with a paused run'],
  ['retry', 'reopen a failed run at its failed tasks'],
] as const;

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
      .command(`${name} <id>`)
      .description(description)
      .option('--reason <text>', 'kept in history')
      .action((id: string, options: { reason?: string }, command: Command) =>
        control(session, command, id, name, options.reason),
      );
  }
  addOperatorCommands(executions, session);
  executions
    .command('terminate <id>')
    .description('end a run and cancel what is open')
    .option('--reason <text>', 'kept in history')
    .option('--failure-workflow', 'start its failure workflow too')
    .action((id: string, options: { reason?: string; failureWorkflow?: boolean }, command: Command) =>
      terminate(session, command, id, options),
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
  id: string,
  action: (typeof CONTROLS)[number][0],
  reason: string | undefined,
): Promise<void> => {
  const body: ControlBody = reason === undefined ? {} : { reason };
  await act(session, command, pathOf(id, `/${action}`), body);
};

const terminate = async (
  session: Session,
  command: Command,
  id: string,
  { reason, failureWorkflow }: { reason?: string; failureWorkflow?: boolean },
): Promise<void> => {
  const body: TerminateBody = {
    ...(reason === undefined ? {} : { reason }),
    ...(failureWorkflow === undefined ? {} : { triggerFailureWorkflow: failureWorkflow }),
  };
  await act(session, command, pathOf(id, '/terminate'), body);
};

const act = async (session: Session, command: Command, path: string, body: ControlBody | TerminateBody) => {
  const client = session.client(command);
  printSummary(session.printer(command), await client.call<ExecutionSummaryBody>('POST', path, { body }));
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
