import type { Command } from 'commander';
import type {
  CancelTaskBody,
  ExecutionSummaryBody,
  JumpBody,
  RerunBody,
  RerunTasksAnswerBody,
  RerunTasksBody,
  RestartBody,
  SkipTaskBody,
  UpgradeBody,
  VariablesBody,
} from '../../../client/wire.ts';
import { positiveInteger } from '../arguments.ts';
import { readObjectArgument } from '../json-input.ts';
import type { Session } from '../session.ts';

type Reason = Readonly<{ reason?: string }>;
type Inputs = Readonly<{ taskInput?: string; workflowInput?: string; output?: string }>;

const JSON_ARGUMENT = 'a JSON object, @file, or - for stdin';

/** `rondo executions rerun …`: what changes the course of one run. */
export const addOperatorCommands = (executions: Command, session: Session): void => {
  const verb = (usage: string, description: string): Command =>
    executions.command(usage).description(description).option('--reason <text>', 'kept in history');

  verb('rerun <id>', 'run a task and all that follows from it again, or the whole run')
    .option('--from <ref>', 'reference of the task')
    .option('--from-task-id <id>', 'the task by its id')
    .option('--task-input <json>', `in place of the task's input: ${JSON_ARGUMENT}`)
    .option('--workflow-input <json>', `in place of the run's input: ${JSON_ARGUMENT}`)
    .option('--correlation-id <id>')
    .action(async (id: string, options: RerunOptions, command: Command) => {
      const { from, fromTaskId, correlationId } = options;
      const body: RerunBody = {
        ...because(options),
        ...(from === undefined ? {} : { fromTaskRef: from }),
        ...(fromTaskId === undefined ? {} : { fromTaskId }),
        ...(correlationId === undefined ? {} : { correlationId }),
        ...(await inputs(session, options)),
      };
      await post(session, command, id, 'rerun', body);
    });

  verb('rerun-tasks <id> <refs...>', 'run named tasks of a paused or ended run again')
    .option('--cascade', 'and all that follows from them')
    .action(async (id: string, taskRefs: string[], options: Reason & { cascade?: boolean }, command: Command) => {
      const body: RerunTasksBody = { ...because(options), taskRefs, cascade: options.cascade === true };
      const { stale } = await post<RerunTasksAnswerBody>(session, command, id, 'rerun-tasks', body);
      const printer = session.printer(command);
      if (stale.length > 0 && !printer.json) printer.note(`stale now: ${stale.join(', ')}`);
    });

  verb('restart <id>', 'begin an ended run again')
    .option('--latest', 'by the definition as it is now')
    .action(async (id: string, options: Reason & { latest?: boolean }, command: Command) => {
      const body: RestartBody = { ...because(options), useLatestDefinitions: options.latest === true };
      await post(session, command, id, 'restart', body);
    });

  verb('skip-task <id> <ref>', 'skip the open task, or one that has not begun')
    .option('--task-input <json>', JSON_ARGUMENT)
    .option('--output <json>', JSON_ARGUMENT)
    .action(async (id: string, taskRef: string, options: Reason & Inputs, command: Command) => {
      const body: SkipTaskBody = { ...because(options), taskRef, ...(await inputs(session, options)) };
      await post(session, command, id, 'skip-task', body);
    });

  verb('cancel-task <id> <ref>', 'cancel the open attempt of a task and pause the run').action(
    async (id: string, taskRef: string, options: Reason, command: Command) => {
      const body: CancelTaskBody = { ...because(options), taskRef };
      await post(session, command, id, 'cancel-task', body);
    },
  );

  verb('variables <id> <json>', `merge variables into those of an open run: ${JSON_ARGUMENT}`).action(
    async (id: string, json: string, options: Reason, command: Command) => {
      const body: VariablesBody = {
        ...because(options),
        variables: await readObjectArgument(session.io, json, 'variables'),
      };
      await post(session, command, id, 'variables', body);
    },
  );

  verb('jump <id> <ref>', 'go on at a task')
    .option('--task-input <json>', `in place of the task's input: ${JSON_ARGUMENT}`)
    .action(async (id: string, taskRef: string, options: Reason & Inputs, command: Command) => {
      const body: JumpBody = { ...because(options), taskRef, ...(await inputs(session, options)) };
      await post(session, command, id, 'jump', body);
    });

  verb('upgrade <id>', 'move an open run to another version of its definition')
    .option('--to <version>', 'the highest unless told', positiveInteger)
    .option('--workflow-input <json>', `merged into the run's input: ${JSON_ARGUMENT}`)
    .option('--task-output <json>', `outputs by ref of new tasks that the run is past: ${JSON_ARGUMENT}`)
    .action(async (id: string, options: UpgradeOptions, command: Command) => {
      const { to, taskOutput } = options;
      const outputs =
        taskOutput === undefined ? undefined : await readObjectArgument(session.io, taskOutput, '--task-output');
      const body: UpgradeBody = {
        ...because(options),
        ...(to === undefined ? {} : { version: to }),
        ...(outputs === undefined ? {} : { taskOutput: outputs as NonNullable<UpgradeBody['taskOutput']> }),
        ...(await inputs(session, options)),
      };
      await post(session, command, id, 'upgrade', body);
    });
};

type RerunOptions = Reason & Inputs & Readonly<{ from?: string; fromTaskId?: string; correlationId?: string }>;
type UpgradeOptions = Reason & Inputs & Readonly<{ to?: number; taskOutput?: string }>;

const because = ({ reason }: Reason): { reason?: string } => (reason === undefined ? {} : { reason });

/** The objects among the options, by the names of the API. */
const inputs = async (session: Session, { taskInput, workflowInput, output }: Inputs) => ({
  ...(taskInput === undefined ? {} : { taskInput: await readObjectArgument(session.io, taskInput, '--task-input') }),
  ...(workflowInput === undefined
    ? {}
    : { workflowInput: await readObjectArgument(session.io, workflowInput, '--workflow-input') }),
  ...(output === undefined ? {} : { taskOutput: await readObjectArgument(session.io, output, '--output') }),
});

const post = async <Answer extends ExecutionSummaryBody = ExecutionSummaryBody>(
  session: Session,
  command: Command,
  id: string,
  verb: string,
  body: object,
): Promise<Answer> => {
  const client = session.client(command);
  const printer = session.printer(command);
  const answer = await client.call<Answer>('POST', `/executions/${encodeURIComponent(id)}/${verb}`, { body });
  printer.result(answer, () => printer.line(`${answer.workflowId}  ${printer.status(answer.status)}`));
  return answer;
};
