import type { z } from 'zod';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import { childPath } from '../../domain/kernel/value-path.ts';
import type { ApiError } from './api-error.ts';

/** Problems listed in one answer. */
const PROBLEMS_MAX = 20;

type Issue = z.core.$ZodIssue;
type Problem = Readonly<{ code: 'UNKNOWN_FIELD' | 'VALIDATION_FAILED'; message: string; path: string }>;

const pathOf = (path: readonly PropertyKey[], root: string): string =>
  path.reduce<string>((at, key) => childPath(at, typeof key === 'number' ? key : String(key)), root);

const problemsOf = (issue: Issue, root: string): readonly Problem[] => {
  const at = pathOf(issue.path, root);
  if (issue.code !== 'unrecognized_keys') return [{ code: 'VALIDATION_FAILED', message: issue.message, path: at }];
  return issue.keys.map((key) => ({
    code: 'UNKNOWN_FIELD',
    message: 'This field is not known here.',
    path: childPath(at, key),
  }));
};

/** Checks a value against a schema. UNKNOWN_FIELD when a field is not known, else VALIDATION_FAILED; both with a path. */
export const validate = <S extends z.ZodType>(schema: S, value: unknown, root = ''): Result<z.output<S>, ApiError> => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return ok(parsed.data);
  const problems = parsed.error.issues.flatMap((issue) => problemsOf(issue, root)).slice(0, PROBLEMS_MAX);
  const first = problems.find(({ code }) => code === 'UNKNOWN_FIELD') ?? problems[0];
  if (first === undefined) return err({ code: 'VALIDATION_FAILED', message: 'The request is not valid.', path: root });
  return err(problems.length === 1 ? first : { ...first, details: { problems } });
};
