import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import { type ApiError, NOT_FOUND } from '../api-error.ts';
import { INTEGER_MAX } from '../schemas/common.ts';

const VERSION = /^[1-9]\d{0,9}$/;

/** The version in a path; what could never be one is answered like one that does not exist. */
export const versionOf = (text: string): Result<number, ApiError> => {
  const version = VERSION.test(text) ? Number(text) : INTEGER_MAX + 1;
  return version > INTEGER_MAX ? err(NOT_FOUND) : ok(version);
};
