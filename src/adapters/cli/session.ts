import type { Command } from 'commander';
import { HttpClient } from '../../client/http-client.ts';
import type { CliIo } from './cli-io.ts';
import { CliError, EXIT, type ExitCode } from './exit-codes.ts';
import { Printer } from './printer.ts';

const URL_DEFAULT = 'http://127.0.0.1:8080';

type GlobalOptions = Readonly<{ url?: string; namespace?: string; apiKey?: string; json?: boolean }>;

/** What one invocation works with; commands say here how it ended. */
export class Session {
  readonly io: CliIo;
  exitCode: ExitCode = EXIT.ok;

  constructor(io: CliIo) {
    this.io = io;
  }

  printer(command: Command): Printer {
    return new Printer(this.io, optionsOf(command).json === true);
  }

  namespace(command: Command): string {
    return optionsOf(command).namespace ?? this.io.env.RONDO_NAMESPACE ?? 'default';
  }

  /** A flag wins over the environment, the environment over the default. */
  client(command: Command): HttpClient {
    const { url, apiKey } = optionsOf(command);
    const key = apiKey ?? this.io.env.RONDO_API_KEY;
    try {
      return new HttpClient({
        url: url ?? this.io.env.RONDO_URL ?? URL_DEFAULT,
        namespace: this.namespace(command),
        apiKey: key === '' ? undefined : key,
      });
    } catch (error) {
      throw new CliError('USAGE', error instanceof Error ? error.message : String(error));
    }
  }
}

const optionsOf = (command: Command): GlobalOptions => command.optsWithGlobals<GlobalOptions>();
