import { CommanderError } from 'commander';
import { ApiError, TransportError } from '../../client/client-error.ts';
import type { CliIo } from './cli-io.ts';
import { CliError, EXIT, type ExitCode } from './exit-codes.ts';
import { escapeText } from './terminal-text.ts';

/** Says in one line on stderr what went wrong, and answers the exit code for it. */
export const reportError = (io: CliIo, error: unknown): ExitCode => {
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
  const { code, message, exitCode } = factsOf(error);
  io.err(`error ${escapeText(code)}: ${escapeText(message)}\n`);
  return exitCode;
};

const factsOf = (error: unknown): Readonly<{ code: string; message: string; exitCode: ExitCode }> => {
  if (error instanceof CommanderError) return { code: 'USAGE', message: usageOf(error), exitCode: EXIT.usage };
  if (error instanceof CliError) return { code: error.code, message: error.message, exitCode: EXIT.usage };
  if (error instanceof ApiError) return { code: error.code, message: refusalOf(error), exitCode: EXIT.refused };
  if (error instanceof TransportError) {
    return { code: error.code, message: error.message, exitCode: EXIT.unreachable };
  }
  const coded = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'INTERNAL';
  return { code: coded, message: error instanceof Error ? error.message : String(error), exitCode: EXIT.internal };
};

const refusalOf = ({ message, path, requestId }: ApiError): string => {
  const where = path === undefined || message.includes(path) ? '' : ` (at ${path})`;
  return `${message}${where}${requestId === undefined ? '' : ` [request ${requestId}]`}`;
};

/** Without the prefix of the library, and without the help text that it adds when a command is missing. */
const usageOf = ({ message, code }: CommanderError): string =>
  code === 'commander.help'
    ? 'a command is missing; see --help'
    : message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
