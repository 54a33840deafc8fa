import type { ServerResponse } from 'node:http';
import { isJsonObject } from '../../domain/kernel/json.ts';
import type { ApiError, ApiErrorCode } from './api-error.ts';
import type { ErrorBody } from './schemas/common.ts';
import { sendJson } from './send.ts';

/** The only place where a code becomes a status. */
const STATUS: Readonly<Record<ApiErrorCode, number>> = {
  INVALID_JSON: 400,
  NESTING_TOO_DEEP: 400,
  DUPLICATE_KEY: 400,
  FORBIDDEN_KEY: 400,
  INVALID_STRING: 400,
  NUMBER_OUT_OF_RANGE: 400,
  BAD_REQUEST: 400,
  INVALID_HEADER: 400,
  NAMESPACE_MISMATCH: 400,
  VALIDATION_FAILED: 400,
  UNKNOWN_FIELD: 400,
  INVALID_NAME: 400,
  INVALID_DEFINITION: 400,
  DUPLICATE_REFERENCE: 400,
  INVALID_GRAPH: 400,
  INVALID_SCHEDULE: 400,
  UNKNOWN_TASK_TYPE: 400,
  EXPRESSION_INVALID: 400,
  INPUT_SCHEMA_VIOLATION: 400,
  INVALID_CURSOR: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  CONFLICT: 409,
  ALREADY_EXISTS: 409,
  TERMINAL_STATE: 409,
  INVALID_STATE: 409,
  LEASE_LOST: 409,
  PAYLOAD_TOO_LARGE: 413,
  URI_TOO_LONG: 414,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_KEY_REUSED: 422,
  LIMIT_EXCEEDED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
  NO_KEY_RING: 409,
  UNAVAILABLE: 503,
};

const RETRY_AFTER_UNAVAILABLE_SECONDS = 1;

/**
 * The status of an error. LIMIT_EXCEEDED with a path blames a place in the document, which no later try will mend: 400.
 * Without one it is a rate or a quota.
 */
export const statusOf = (error: Pick<ApiError, 'code' | 'path'>): number =>
  error.code === 'LIMIT_EXCEEDED' && error.path !== undefined ? 400 : STATUS[error.code];

/** The envelope of every refusal. */
export const errorBody = ({ code, message, path, details }: ApiError, requestId: string): ErrorBody => ({
  error: code,
  message,
  ...(path !== undefined && { path }),
  ...(details !== undefined && { details }),
  requestId,
});

const retryAfterSeconds = ({ code, details }: ApiError): number | undefined => {
  if (code === 'UNAVAILABLE') return RETRY_AFTER_UNAVAILABLE_SECONDS;
  const computed = isJsonObject(details) ? details.retryAfterSeconds : undefined;
  return code === 'LIMIT_EXCEEDED' && typeof computed === 'number' ? Math.ceil(computed) : undefined;
};

/** What goes out with a refusal at either door. */
export const headersOf = (error: ApiError): Record<string, string> => {
  const seconds = retryAfterSeconds(error);
  return {
    ...(seconds !== undefined && { 'retry-after': String(seconds) }),
    ...(error.code === 'UNAUTHENTICATED' && { 'www-authenticate': 'Bearer realm="rondo"' }),
    ...error.headers,
  };
};

/** Answers with the envelope. Nothing but the error's own code, message, path and details leaves. */
export const sendError = (response: ServerResponse, error: ApiError, requestId: string): void =>
  sendJson(response, statusOf(error), errorBody(error, requestId), headersOf(error));
