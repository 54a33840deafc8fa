import type { Command } from 'commander';
import type { HttpClient } from '../../../client/http-client.ts';
import type { ExecutionDetailBody, StartBody, StartedExecutionBody } from '../../../client/wire.ts';
import { positiveInteger, seconds } from '../arguments.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { followExecution } from '../follow-execution.ts';
import { readObjectArgument } from '../json-input.ts';
import type { Printer } from '../printer.ts';
import type { Session } from '../session.ts';
import { escapeText } from '../terminal-text.ts';

type RunOptions = Readonly<{
  input?: string;
  version?: number;
  correlationId?: string;
  idempotencyKey?: string;
  wait?: boolean;
  timeout?: number;
}>;

export const addRunCommand = (program: Command, session: Session): void => {
  program
    .command('run <name>')
    .description('start a workflow; with --wait exit 0 when it completed, 1 when it failed, 2 when it still runs')
    .option('--input <json>', 'a JSON object, @file, or - for stdin')
    .option('--version <number>', 'version of the definition; the highest unless told', positiveInteger)
    .option('--correlation-id <id>', 'your name for what this run is about')
    .option('--idempotency-key <key>', 'the same key starts one run only')
    .option('--wait', 'wait for the end of the run')
    .option('--timeout <seconds>', 'with --wait: give up after this time', seconds)
    .action((name: string, options: RunOptions, command: Command) => run(session, command, name, options));
};

const run = async (session: Session, command: Command, name: string, options: RunOptions): Promise<void> => {
  const client = session.client(command);
  const printer = session.printer(command);
  const started = await start(session, client, name, options);
  if (options.wait !== true) {
    printer.result(started, () => printer.line(`${started.workflowId}  ${printer.status(started.status)}`));
    return;
  }
  if (!printer.json) printer.note(`started ${started.workflowId}`);
  const detail = await waitForEnd(client, printer, started.workflowId, options.timeout);
  session.exitCode = exitCodeOf(detail.status);
  printer.result(detail, () => printEnd(printer, detail));
};

const start = async (session: Session, client: HttpClient, name: string, options: RunOptions) => {
  const input = options.input === undefined ? {} : await readObjectArgument(session.io, options.input, '--input');
  const { version, correlationId, idempotencyKey } = options;
  const body: StartBody = {
    input,
    ...(version === undefined ? {} : { version }),
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
  return client.call<StartedExecutionBody>('POST', `/executions/${encodeURIComponent(name)}`, {
    body,
    idempotent: idempotencyKey !== undefined,
  });
};

/** The run when it has ended or the time is up, whichever comes first. */
const waitForEnd = async (client: HttpClient, printer: Printer, id: string, timeoutSeconds: number | undefined) => {
  const signal =
    timeoutSeconds === undefined ? new AbortController().signal : AbortSignal.timeout(Math.ceil(timeoutSeconds * 1000));
  const onLost = () => printer.note('connection lost, going on');
  for await (const _ of followExecution(client, id, { after: 0, signal, patient: true, onLost })) {
    // Only the end counts.
  }
  return client.call<ExecutionDetailBody>('GET', `/executions/${encodeURIComponent(id)}`);
};

const exitCodeOf = (status: ExecutionDetailBody['status']): ExitCode => {
  switch (status) {
    case 'COMPLETED':
      return EXIT.ok;
    case 'RUNNING':
    case 'PAUSED':
      return EXIT.stillRunning;
    case 'FAILED':
    case 'TIMED_OUT':
    case 'TERMINATED':
      return EXIT.failed;
    default:
      throw new TypeError(`unknown status: ${JSON.stringify(status satisfies never)}`);
  }
};

const printEnd = (printer: Printer, { status, reason, output }: ExecutionDetailBody): void => {
  printer.line(`${printer.status(status)}${reason === undefined ? '' : `  ${escapeText(reason)}`}`);
  if (output !== undefined) printer.pretty(output);
};
