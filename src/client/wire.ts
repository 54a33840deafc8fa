/** The shapes of the API that clients use: one set of zod objects validates them at the server and types them here. */
export type {
  DefinitionDetailBody,
  DefinitionPageBody,
  RegisteredTaskBody,
  RegisteredWorkflowBody,
  TaskDefinitionDetailBody,
  TaskDefinitionPageBody,
  ValidationAnswerBody,
} from '../adapters/http/schemas/definitions.ts';
export type { DeadLetterPageBody } from '../adapters/http/schemas/doors.ts';
export type {
  CancelTaskBody,
  ControlBody,
  ExecutionDetailBody,
  ExecutionPageBody,
  ExecutionSummaryBody,
  HistoryEventBody,
  HistoryPageBody,
  JumpBody,
  RerunBody,
  RerunTasksAnswerBody,
  RerunTasksBody,
  RestartBody,
  SearchBody,
  SignalAnswerBody,
  SignalBody,
  SkipTaskBody,
  StartBody,
  StartedExecutionBody,
  TerminateBody,
  UpgradeBody,
  VariablesBody,
} from '../adapters/http/schemas/executions.ts';
export type {
  HeartbeatBody,
  LeaseAnswerBody,
  LeaseBody,
  LeasedTaskBody,
  LogsBody,
  QueueListBody,
  ReleaseBody,
  ReportManyAnswerBody,
} from '../adapters/http/schemas/workers.ts';
