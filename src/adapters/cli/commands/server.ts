import type { Command } from 'commander';
import type { Session } from '../session.ts';
import { escapeText } from '../terminal-text.ts';

export type Bootstrapped = Readonly<{ namespace: string; key: string; scopes: readonly string[] }>;

/** What needs the whole server rather than its address; composition provides it. */
export type ServerCommands = Readonly<{
  /** Runs until it is told to stop, with a PostgreSQL of its own. */
  runDev(): Promise<void>;
  /** Runs until it is told to stop. */
  runServe(): Promise<void>;
  /** Brings the schema up to date; answers a line for each migration it applied. */
  runMigrate(): Promise<readonly string[]>;
  /** Makes the namespace if there is none and an administrator's key for it; the key is in clear in this answer only. */
  runBootstrap(options: Readonly<{ namespace: string; keyName: string }>): Promise<Bootstrapped>;
}>;

export const addServerCommands = (program: Command, session: Session, server: ServerCommands): void => {
  program
    .command('dev')
    .description('run everything on this machine, with a PostgreSQL of its own')
    .action(() => server.runDev());
  program
    .command('serve')
    .description('run the server on the database of DATABASE_URL')
    .action(() => server.runServe());
  program
    .command('migrate')
    .description('bring the schema of the database of DATABASE_URL up to date')
    .action(async (_options: object, command: Command) => migrate(command, session, server));
  program
    .command('bootstrap')
    .description('make the namespace and its first administrator key; the key is shown once')
    .option('--name <name>', 'name of the key', 'bootstrap')
    .action(async (options: { name: string }, command: Command) => bootstrap(options.name, command, session, server));
};

const migrate = async (command: Command, session: Session, server: ServerCommands): Promise<void> => {
  const printer = session.printer(command);
  const applied = await server.runMigrate();
  printer.result({ applied }, () => {
    if (applied.length === 0) printer.line('The schema is up to date.');
    for (const line of applied) printer.line(escapeText(line));
  });
};

const bootstrap = async (keyName: string, command: Command, session: Session, server: ServerCommands) => {
  const printer = session.printer(command);
  const made = await server.runBootstrap({ namespace: session.namespace(command), keyName });
  printer.result(made, () => {
    printer.note(`Namespace ${made.namespace} is ready. Keep this key, it is not shown again:`);
    printer.line(escapeText(made.key));
  });
};
