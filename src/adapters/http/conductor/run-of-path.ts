import type { ApplicationError } from '../../../application/application-error.ts';
import { type ExecutionId, parseExecutionId } from '../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import type { ApiError } from '../api-error.ts';

/** Said alike of a run that is not there, is in another namespace, or could not be named so. */
export const noWorkflow = (id: string): ApiError => ({
  code: 'NOT_FOUND',
  message: `No such workflow found by id: ${id}`,
});

/** The run that a path names. */
export const runOf = (id: string): Result<ExecutionId, ApiError> => {
  const parsed = parseExecutionId(id);
  return parsed === undefined ? err(noWorkflow(id)) : ok(parsed);
};

/** The answer about a run; that there is none is said in Conductor's words. */
export const aboutRun = <T>(id: string, result: Result<T, ApplicationError>): Result<T, ApiError> =>
  result.ok || result.error.code !== 'NOT_FOUND' ? result : err(noWorkflow(id));
