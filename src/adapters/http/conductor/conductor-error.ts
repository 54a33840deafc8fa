import type { ServerResponse } from 'node:http';
import { isJsonObject, type JsonValue } from '../../../domain/kernel/json.ts';
import type { ApiError } from '../api-error.ts';
import { headersOf, statusOf } from '../error-response.ts';
import { sendJson } from '../send.ts';

type FieldProblem = Readonly<{ path: string; message: string }>;

/** The body of every refusal under /api. `error` is there for a credential, whose codes Conductor's clients act upon. */
export type ConductorErrorBody = Readonly<{
  status: number;
  message: string;
  /** Under which the log has more. */
  instance: string;
  /** The same call may do better later. */
  retryable: boolean;
  code: string;
  validationErrors?: readonly FieldProblem[];
  error?: 'EXPIRED_TOKEN' | 'INVALID_TOKEN';
}>;

const CONFLICT = 409;

/** Conductor has no 422: a key that was used for something else is a conflict there. */
export const conductorStatusOf = (error: Pick<ApiError, 'code' | 'path'>): number =>
  error.code === 'IDEMPOTENCY_KEY_REUSED' ? CONFLICT : statusOf(error);

const isRetryable = ({ code, path }: ApiError): boolean =>
  code === 'UNAVAILABLE' || (code === 'LIMIT_EXCEEDED' && path === undefined);

const problemOf = (value: JsonValue): readonly FieldProblem[] =>
  isJsonObject(value) && typeof value.path === 'string' && typeof value.message === 'string'
    ? [{ path: value.path, message: value.message }]
    : [];

/** Every place that is wrong: those listed in the details, else the one the error names. */
const problemsOf = ({ path, message, details }: ApiError): readonly FieldProblem[] => {
  const listed = isJsonObject(details) && Array.isArray(details.problems) ? details.problems.flatMap(problemOf) : [];
  if (listed.length > 0) return listed;
  return path === undefined ? [] : [{ path, message }];
};

const tokenError = ({ code, details }: ApiError): ConductorErrorBody['error'] => {
  if (code !== 'UNAUTHENTICATED') return undefined;
  return isJsonObject(details) && details.token === 'expired' ? 'EXPIRED_TOKEN' : 'INVALID_TOKEN';
};

export const conductorErrorBody = (error: ApiError, requestId: string): ConductorErrorBody => {
  const problems = problemsOf(error);
  const token = tokenError(error);
  return {
    status: conductorStatusOf(error),
    message: error.message,
    instance: requestId,
    retryable: isRetryable(error),
    code: error.code,
    ...(problems.length > 0 && { validationErrors: problems }),
    ...(token !== undefined && { error: token }),
  };
};

export const sendConductorError = (response: ServerResponse, error: ApiError, requestId: string): void =>
  sendJson(response, conductorStatusOf(error), conductorErrorBody(error, requestId), headersOf(error));
