import { Command } from 'commander';
import { type CliIo, processIo } from './cli-io.ts';
import { addDeadLetterCommands } from './commands/dead-letters.ts';
import { addDefinitionCommands } from './commands/definitions.ts';
import { addExecutionCommands, addReplayCommand } from './commands/executions.ts';
import { addHistoryCommands } from './commands/history.ts';
import { addQueuesCommand } from './commands/queues.ts';
import type { ReplayFile } from './commands/replay.ts';
import { addRunCommand } from './commands/run.ts';
import { addScheduleCommands } from './commands/schedules.ts';
import { addServerCommands, type ServerCommands } from './commands/server.ts';
import { addTestCommand, type RunTestFile } from './commands/test.ts';
import type { ExitCode } from './exit-codes.ts';
import { reportError } from './report-error.ts';
import { Session } from './session.ts';

export type { Bootstrapped, ServerCommands } from './commands/server.ts';

/** What runs the engine in this very process. */
export type EngineCommands = ServerCommands & Readonly<{ runTestFile: RunTestFile; replayFile: ReplayFile }>;

/**
 * Runs one invocation of `rondo`; `argv` is what follows the name of the program. Answers the exit code and never
 * rejects: what goes wrong is one line on stderr.
 */
export const runCli = async (
  argv: readonly string[],
  server: EngineCommands,
  io: CliIo = processIo(),
): Promise<ExitCode> => {
  const session = new Session(io);
  try {
    await createProgram(server, session).parseAsync([...argv], { from: 'user' });
    return session.exitCode;
  } catch (error) {
    return reportError(io, error);
  }
};

const createProgram = (server: EngineCommands, session: Session): Command => {
  const { io } = session;
  const program = new Command('rondo')
    .description('durable workflow orchestration')
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err, outputError: () => undefined })
    .option('--url <url>', 'the server; RONDO_URL, else http://127.0.0.1:8080')
    .option('--namespace <name>', 'the tenant; RONDO_NAMESPACE, else default')
    .option('--api-key <key>', 'the credential; RONDO_API_KEY')
    .option('--json', 'answer for programs: JSON on stdout and nothing else');
  addServerCommands(program, session, server);
  addDefinitionCommands(program, session);
  addRunCommand(program, session);
  addExecutionCommands(program, session);
  addHistoryCommands(program, session);
  addReplayCommand(program, session, server.replayFile);
  addQueuesCommand(program, session);
  addTestCommand(program, session, server.runTestFile);
  addDeadLetterCommands(program, session);
  addScheduleCommands(program, session);
  return program;
};
