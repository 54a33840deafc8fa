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
export type {
  ControlBody,
  ExecutionDetailBody,
  ExecutionPageBody,
  ExecutionSummaryBody,
  HistoryEventBody,
  HistoryPageBody,
  SearchBody,
  SignalAnswerBody,
  SignalBody,
  StartBody,
  StartedExecutionBody,
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
