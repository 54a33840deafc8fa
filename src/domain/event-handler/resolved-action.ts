import type { ReportStatus } from '../execution/statuses.ts';
import { type ExecutionId, parseExecutionId, parseTaskId, type TaskId } from '../kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import type { EventActionType } from './event-handler.ts';

/** A task of a run, by its id or its wire ref. */
export type TaskTarget = Readonly<
  { executionId: ExecutionId; taskId: TaskId; scheduledSeq: number } | { executionId: ExecutionId; ref: string }
>;

/** An action whose template was filled in from a message. */
export type ResolvedAction =
  | Readonly<{
      type: 'START_WORKFLOW';
      name: string;
      version?: number;
      correlationId?: string;
      input: JsonObject;
      priority: number;
      taskToDomain?: Readonly<Record<string, string>>;
    }>
  | Readonly<{ type: 'COMPLETE_TASK' | 'FAIL_TASK'; task: TaskTarget; output: JsonObject; reason?: string }>
  | Readonly<{ type: 'TERMINATE_WORKFLOW'; executionId: ExecutionId; reason?: string }>
  | Readonly<{ type: 'UPDATE_VARIABLES'; executionId: ExecutionId; variables: JsonObject; appends: boolean }>
  | Readonly<{ type: 'SIGNAL'; executionId: ExecutionId; ref?: string; status: ReportStatus; output: JsonObject }>;

const PRIORITY_MAX = 99;
const NAME_CHARS_MAX = 255;
const REASON_CHARS_MAX = 4_096;
const SIGNAL_STATUSES: readonly string[] = [
  'COMPLETED',
  'FAILED',
  'FAILED_WITH_TERMINAL_ERROR',
] satisfies ReportStatus[];

const shown = (value: JsonValue | undefined): string => JSON.stringify(value ?? null).slice(0, 200);

const textIn = (value: JsonValue | undefined): string | undefined => {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
};
const reasonIn = (value: JsonValue | undefined) => {
  const reason = textIn(value)?.slice(0, REASON_CHARS_MAX);
  return reason === undefined ? {} : { reason };
};
const isTrue = (value: JsonValue | undefined): boolean => value === true || value === 'true';

const objectIn = (input: JsonObject, key: string): Result<JsonObject, string> => {
  const value = input[key] ?? {};
  return isJsonObject(value) ? ok(value) : err(`${key} is an object; it is ${shown(value)}.`);
};

const runIn = (input: JsonObject): Result<ExecutionId, string> => {
  const id = parseExecutionId(textIn(input.workflowId) ?? '');
  return id === undefined ? err(`workflowId is the id of a run; it is ${shown(input.workflowId)}.`) : ok(id);
};

const integerIn = (value: JsonValue | undefined, max: number): number | undefined => {
  const number = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= max ? number : undefined;
};

const VERSION_MAX = 2_147_483_647;

/** Reads what a template gave; the error says what about it makes no sense. */
export const readAction = (type: EventActionType, input: JsonObject): Result<ResolvedAction, string> => {
  switch (type) {
    case 'START_WORKFLOW':
      return startIn(input);
    case 'COMPLETE_TASK':
    case 'FAIL_TASK': {
      const task = taskIn(input);
      const output = objectIn(input, 'output');
      if (!task.ok) return task;
      if (!output.ok) return output;
      return ok({ type, task: task.value, output: output.value, ...reasonIn(input.reason) });
    }
    case 'TERMINATE_WORKFLOW': {
      const run = runIn(input);
      return run.ok ? ok({ type, executionId: run.value, ...reasonIn(input.reason) }) : run;
    }
    case 'UPDATE_VARIABLES': {
      const run = runIn(input);
      const variables = objectIn(input, 'variables');
      if (!run.ok) return run;
      if (!variables.ok) return variables;
      return ok({ type, executionId: run.value, variables: variables.value, appends: isTrue(input.append) });
    }
    case 'SIGNAL':
      return signalIn(input);
  }
};

const startIn = (input: JsonObject): Result<ResolvedAction, string> => {
  const name = textIn(input.name);
  if (name === undefined || name.length > NAME_CHARS_MAX)
    return err(`name is the name of a workflow; it is ${shown(input.name)}.`);
  const given = objectIn(input, 'input');
  if (!given.ok) return given;
  const domains = objectIn(input, 'taskToDomain');
  if (!domains.ok) return domains;
  // To Conductor, version 0 is the latest.
  const version = integerIn(input.version ?? 0, VERSION_MAX);
  if (version === undefined) return err(`version is a whole number; it is ${shown(input.version)}.`);
  const priority = integerIn(input.priority ?? 0, PRIORITY_MAX);
  if (priority === undefined)
    return err(`priority is a number from 0 to ${PRIORITY_MAX}; it is ${shown(input.priority)}.`);
  const correlationId = textIn(input.correlationId)?.slice(0, NAME_CHARS_MAX);
  const taskToDomain = Object.fromEntries(
    Object.entries(domains.value).flatMap(([task, domain]) => (typeof domain === 'string' ? [[task, domain]] : [])),
  );
  return ok({
    type: 'START_WORKFLOW',
    name,
    input: given.value,
    priority,
    ...(version === 0 ? {} : { version }),
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(Object.keys(taskToDomain).length === 0 ? {} : { taskToDomain }),
  });
};

const taskIn = (input: JsonObject): Result<TaskTarget, string> => {
  const taskId = textIn(input.taskId);
  if (taskId !== undefined) {
    const parsed = parseTaskId(taskId);
    return parsed === undefined
      ? err(`taskId is the id of a task; it is ${shown(taskId)}.`)
      : ok({ ...parsed, taskId: taskId as TaskId });
  }
  const run = runIn(input);
  const ref = textIn(input.taskRefName);
  if (!run.ok) return run;
  if (ref === undefined) return err('it needs a taskId, or a workflowId and a taskRefName.');
  return ok({ executionId: run.value, ref });
};

const signalIn = (input: JsonObject): Result<ResolvedAction, string> => {
  const run = runIn(input);
  const output = objectIn(input, 'output');
  if (!run.ok) return run;
  if (!output.ok) return output;
  const status = textIn(input.status) ?? 'COMPLETED';
  if (!SIGNAL_STATUSES.includes(status))
    return err(`status is one of ${SIGNAL_STATUSES.join(', ')}; it is ${shown(status)}.`);
  const ref = textIn(input.taskRefName);
  const named = ref === undefined ? {} : { ref };
  return ok({ type: 'SIGNAL', executionId: run.value, ...named, status: status as ReportStatus, output: output.value });
};
