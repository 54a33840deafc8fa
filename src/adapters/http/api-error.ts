import type { ApplicationErrorCode } from '../../application/application-error.ts';
import type { JsonValue } from '../../domain/kernel/json.ts';
import type { StrictJsonProblem } from '../../domain/kernel/strict-json.ts';

/** What only the door itself can refuse. */
export type DoorErrorCode =
  | Exclude<StrictJsonProblem['code'], 'LIMIT_EXCEEDED'>
  | 'BAD_REQUEST'
  | 'INVALID_HEADER'
  | 'NAMESPACE_MISMATCH'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'URI_TOO_LONG'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'HEADERS_TOO_LARGE'
  | 'INTERNAL';

export type ApiErrorCode = ApplicationErrorCode | DoorErrorCode;

/** Why a request was refused; an ApplicationError is one. `headers` go out with the answer. */
export type ApiError = Readonly<{
  code: ApiErrorCode;
  message: string;
  path?: string;
  details?: JsonValue;
  headers?: Readonly<Record<string, string>>;
}>;

/** The one answer for what is not there, is elsewhere, or may not be known: byte-equal in every case. */
export const NOT_FOUND: ApiError = { code: 'NOT_FOUND', message: 'There is no such resource.' };

export const STOPPING: ApiError = {
  code: 'UNAVAILABLE',
  message: 'The server is stopping.',
  headers: { 'retry-after': '1' },
};
