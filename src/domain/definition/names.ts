import { isPrototypeKey } from '../expression/expression-problem.ts';
import { SCOPE_ROOTS } from '../expression/scope.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import { NAME_CHARS_MAX } from './limits.ts';
import type { Dialect } from './workflow-definition.ts';

/** A failure workflow whose name is an input of the run. */
export const FAILURE_WORKFLOW_INPUT_FORM = '$workflow.input.';

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const CONTROL = /\p{Cc}/u;
/** What the engine itself appends to a reference inside a loop. */
const LOOP_SUFFIX = /__\d+$/;
/** Joins note whole branches beside references, as `#0`. */
const BRANCH_SIGN = '#';

const invalidName = (path: string, message: string): DefinitionProblem => ({ code: 'INVALID_NAME', message, path });

const looseProblem = (name: string, path: string): DefinitionProblem | undefined => {
  if (name.trim() === '') return invalidName(path, 'a name must not be empty');
  if (name.length > NAME_CHARS_MAX) return invalidName(path, `a name has at most ${NAME_CHARS_MAX} characters`);
  if (CONTROL.test(name)) return invalidName(path, 'a name must not hold control characters');
  return isPrototypeKey(name) ? invalidName(path, 'this name is reserved') : undefined;
};

/** Judges the name of a workflow, a task or a task definition. */
export const nameProblem = (name: string, path: string, door: Dialect): DefinitionProblem | undefined => {
  const loose = looseProblem(name, path);
  if (loose !== undefined || door === 'conductor' || NAME.test(name)) return loose;
  return invalidName(path, 'a name begins with a letter or "_" and goes on with letters, digits, "_", "." and "-"');
};

/** Judges a taskReferenceName: any text, but not one that the suffix of a loop iteration would make ambiguous. */
export const referenceProblem = (ref: string, path: string, door: Dialect): DefinitionProblem | undefined => {
  const loose = looseProblem(ref, path);
  if (loose !== undefined) return loose;
  if (LOOP_SUFFIX.test(ref)) {
    return invalidName(
      path,
      'a reference must not end with "__" and digits: that is how loop iterations are told apart',
    );
  }
  if (ref.startsWith(BRANCH_SIGN)) return invalidName(path, `a reference must not begin with "${BRANCH_SIGN}"`);
  return door === 'v1' && SCOPE_ROOTS.has(ref)
    ? invalidName(path, `"${ref}" is the name of a root of expressions and cannot name a task`)
    : undefined;
};
