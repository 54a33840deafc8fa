import type { Command } from 'commander';
import type {
  DefinitionDetailBody,
  DefinitionPageBody,
  RegisteredTaskBody,
  RegisteredWorkflowBody,
  TaskDefinitionDetailBody,
  TaskDefinitionPageBody,
  ValidationAnswerBody,
} from '../../../client/wire.ts';
import { positiveInteger } from '../arguments.ts';
import { EXIT } from '../exit-codes.ts';
import { readDocuments } from '../json-input.ts';
import { collectPages } from '../pages.ts';
import type { Session } from '../session.ts';

const LIST_ITEMS_DEFAULT = 100;

export const addDefinitionCommands = (program: Command, session: Session): void => {
  addWorkflowCommands(program.command('workflows').description('workflow definitions'), session);
  addTaskCommands(program.command('tasks').description('task definitions'), session);
};

const addWorkflowCommands = (workflows: Command, session: Session): void => {
  workflows
    .command('register <file...>')
    .description('register the definitions in JSON files, each holding one or a list')
    .action((files: string[], _options: object, command: Command) => registerWorkflows(session, command, files));
  workflows
    .command('validate <file...>')
    .description('list every problem of the definitions without storing them; exit 1 when there is one')
    .action((files: string[], _options: object, command: Command) => validateWorkflows(session, command, files));
  workflows
    .command('list')
    .option('--limit <count>', 'at most so many', positiveInteger, LIST_ITEMS_DEFAULT)
    .action((options: { limit: number }, command: Command) => listWorkflows(session, command, options.limit));
  workflows
    .command('get <name>')
    .option('--version <number>', 'the highest unless told', positiveInteger)
    .action((name: string, options: { version?: number }, command: Command) =>
      getWorkflow(session, command, name, options.version),
    );
};

const addTaskCommands = (tasks: Command, session: Session): void => {
  tasks
    .command('register <file...>')
    .description('register the task definitions in JSON files, each holding one or a list')
    .action((files: string[], _options: object, command: Command) => registerTasks(session, command, files));
  tasks
    .command('list')
    .option('--limit <count>', 'at most so many', positiveInteger, LIST_ITEMS_DEFAULT)
    .action((options: { limit: number }, command: Command) => listTasks(session, command, options.limit));
  tasks
    .command('get <name>')
    .action((name: string, _options: object, command: Command) => getTask(session, command, name));
};

/** Registers what the files hold, in their order; the answers of the server in the same order. */
const registerAll = async <T>(session: Session, command: Command, files: readonly string[], path: string) => {
  const client = session.client(command);
  const answers: T[] = [];
  for (const { document } of await readDocuments(session.io, files)) {
    // The same content again is answered `unchanged`, so a repetition does no harm.
    answers.push(await client.call<T>('POST', path, { body: document, idempotent: true }));
  }
  return answers;
};

const registerWorkflows = async (session: Session, command: Command, files: readonly string[]): Promise<void> => {
  const printer = session.printer(command);
  const answers = await registerAll<RegisteredWorkflowBody>(session, command, files, '/definitions/workflows');
  const registered = answers.map(({ name, version, outcome }) => ({ name, version, outcome }));
  printer.result({ registered }, () =>
    printer.table(
      ['NAME', 'VERSION', 'OUTCOME'],
      registered.map(({ name, version, outcome }) => [name, version, outcome]),
    ),
  );
};

const registerTasks = async (session: Session, command: Command, files: readonly string[]): Promise<void> => {
  const printer = session.printer(command);
  const answers = await registerAll<RegisteredTaskBody>(session, command, files, '/definitions/tasks');
  const registered = answers.map(({ name, outcome }) => ({ name, outcome }));
  printer.result({ registered }, () =>
    printer.table(
      ['NAME', 'OUTCOME'],
      registered.map(({ name, outcome }) => [name, outcome]),
    ),
  );
};

const validateWorkflows = async (session: Session, command: Command, files: readonly string[]): Promise<void> => {
  const client = session.client(command);
  const printer = session.printer(command);
  const problems: { file: string; code: string; path: string; message: string }[] = [];
  for (const { file, document } of await readDocuments(session.io, files)) {
    const answer = await client.call<ValidationAnswerBody>('POST', '/definitions/workflows/validate', {
      body: document,
      idempotent: true,
    });
    problems.push(...answer.problems.map((problem) => ({ file, ...problem })));
  }
  const valid = problems.length === 0;
  if (!valid) session.exitCode = EXIT.failed;
  printer.result({ valid, problems }, () => {
    if (valid) printer.line('valid');
    else
      printer.table(
        ['FILE', 'PATH', 'CODE', 'MESSAGE'],
        problems.map(({ file, path, code, message }) => [file, path, code, message]),
      );
  });
};

const listWorkflows = async (session: Session, command: Command, limit: number): Promise<void> => {
  const client = session.client(command);
  const printer = session.printer(command);
  const definitions = await collectPages(limit, async (pageLimit, cursor) => {
    const query = { limit: pageLimit, cursor };
    const page = await client.call<DefinitionPageBody>('GET', '/definitions/workflows', { query });
    return { items: page.definitions, nextCursor: page.nextCursor };
  });
  printer.result({ definitions }, () =>
    printer.table(
      ['NAME', 'VERSION', 'UPDATED', 'DESCRIPTION'],
      definitions.map(({ name, version, updatedAt, description }) => [name, version, updatedAt, description]),
    ),
  );
};

const getWorkflow = async (session: Session, command: Command, name: string, version: number | undefined) => {
  const path = `/definitions/workflows/${encodeURIComponent(name)}`;
  const found = await session.client(command).call<DefinitionDetailBody>('GET', path, { query: { version } });
  const printer = session.printer(command);
  printer.result(found, () => printer.pretty(found.definition));
};

const listTasks = async (session: Session, command: Command, limit: number): Promise<void> => {
  const client = session.client(command);
  const printer = session.printer(command);
  const definitions = await collectPages(limit, async (pageLimit, cursor) => {
    const query = { limit: pageLimit, cursor };
    const page = await client.call<TaskDefinitionPageBody>('GET', '/definitions/tasks', { query });
    return { items: page.definitions, nextCursor: page.nextCursor };
  });
  printer.result({ definitions }, () =>
    printer.table(
      ['NAME', 'UPDATED'],
      definitions.map(({ name, updatedAt }) => [name, updatedAt]),
    ),
  );
};

const getTask = async (session: Session, command: Command, name: string): Promise<void> => {
  const path = `/definitions/tasks/${encodeURIComponent(name)}`;
  const found = await session.client(command).call<TaskDefinitionDetailBody>('GET', path);
  const printer = session.printer(command);
  printer.result(found, () => printer.pretty(found.definition));
};
