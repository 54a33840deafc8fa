import type { DefinitionProblem } from '../../domain/definition/definition-problem.ts';
import { invariant } from '../../domain/kernel/invariant.ts';
import { err } from '../../domain/kernel/result.ts';
import type { ApplicationError } from '../application-error.ts';

/** The refusal of a document: the first problem speaks, all of them are in the details. */
export const refusedDefinition = (problems: readonly DefinitionProblem[]) => {
  const [first] = problems;
  invariant(first !== undefined, 'a definition was refused without a problem');
  const details = { problems: problems.map(({ code, message, path }) => ({ code, message, path })) };
  return err<ApplicationError>({ code: first.code, message: first.message, path: first.path, details });
};

/** Nothing of that name is in this namespace. */
export const definitionNotFound = (message: string) => err<ApplicationError>({ code: 'NOT_FOUND', message });
