import type { JsonValue } from '../domain/kernel/json.ts';

/** Codes are stable; messages are not. The http adapter alone maps a code to a status. */
export type ApplicationErrorCode =
  | 'VALIDATION_FAILED'
  | 'UNKNOWN_FIELD'
  | 'INVALID_NAME'
  | 'INVALID_DEFINITION'
  | 'DUPLICATE_REFERENCE'
  | 'INVALID_GRAPH'
  | 'INVALID_SCHEDULE'
  | 'UNKNOWN_TASK_TYPE'
  | 'EXPRESSION_INVALID'
  | 'INPUT_SCHEMA_VIOLATION'
  | 'INVALID_CURSOR'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'ALREADY_EXISTS'
  | 'TERMINAL_STATE'
  | 'INVALID_STATE'
  | 'LEASE_LOST'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'LIMIT_EXCEEDED'
  | 'PAYLOAD_TOO_LARGE'
  /** The server was given no keys to seal secrets with. */
  | 'NO_KEY_RING'
  | 'UNAVAILABLE';

/** Why a use case refused. `path` points into the request body; `details` are facts, never prose, stack or SQL. */
export type ApplicationError = Readonly<{
  code: ApplicationErrorCode;
  message: string;
  path?: string;
  details?: JsonValue;
}>;
