import { err, ok, type Result } from '../kernel/result.ts';
import type { ExpressionProblem } from './expression-problem.ts';
import { rootedPathsIn, type Step } from './json-path-ast.ts';
import { PATH_NAME, parseJsonPath } from './json-path-parser.ts';
import { TextCursor } from './text-cursor.ts';

/** A path of an expression: it begins at a root of the scope or at a task ref. */
export interface RootedPath {
  /** As written, without the braces. */
  readonly source: string;
  readonly steps: readonly Step[];
  /** The first three segments, as far as they are plain names. */
  readonly head: string;
  readonly field: string | undefined;
  readonly name: string | undefined;
  /** The name of the secret it reads, if it reads one. */
  readonly secret: string | undefined;
}

const SECRET_NAME = /^[A-Za-z0-9_-]{1,255}$/;

const nameAt = (steps: readonly Step[], at: number): string | undefined => {
  const step = steps[at];
  return step?.kind === 'name' ? step.name : undefined;
};

/** How many leading steps name the secret store: `secrets.X` one, `workflow.secrets.X` two, anything else none. */
export const secretStoreSteps = (segments: readonly (string | undefined)[]): 0 | 1 | 2 => {
  if (segments[0] === 'secrets') return 1;
  return segments[0] === 'workflow' && segments[1] === 'secrets' ? 2 : 0;
};

const forbidden = (message: string): ExpressionProblem => ({ code: 'FORBIDDEN_REFERENCE', message, offset: 0 });
const invalid = (message: string): ExpressionProblem => ({ code: 'EXPRESSION_INVALID', message, offset: 0 });

const secretOf = (steps: readonly Step[]): Result<string | undefined, ExpressionProblem> => {
  const store = secretStoreSteps([nameAt(steps, 0), nameAt(steps, 1)]);
  if (store === 0) return ok(undefined);
  const secret = nameAt(steps, store);
  return secret !== undefined && SECRET_NAME.test(secret)
    ? ok(secret)
    : err(forbidden('a reference to a secret must give its name, of letters, digits, "_" and "-"'));
};

/** A `$` inside a filter begins at the scope too, where it may read anything but secrets. */
const problemOfInnerRoots = (steps: readonly Step[]): ExpressionProblem | undefined => {
  for (const inner of rootedPathsIn(steps)) {
    if (nameAt(inner, 0) === undefined) return invalid('a path with "$" must begin with a name, such as "$.workflow"');
    if (secretStoreSteps([nameAt(inner, 0), nameAt(inner, 1)]) > 0) {
      return forbidden('a secret cannot be compared inside a path');
    }
  }
  return undefined;
};

/**
 * Parses the path of an expression. Errors: EXPRESSION_INVALID when it does not parse or begins with no name,
 * FORBIDDEN_REFERENCE for the secret store as a whole, a malformed secret name, or a secret inside a filter.
 */
export const parseRootedPath = (text: string): Result<RootedPath, ExpressionProblem> => {
  const source = text.trim();
  const path = parseJsonPath(source);
  if (!path.ok) return path;
  const { steps } = path.value;
  const head = nameAt(steps, 0);
  if (head === undefined) return err(invalid('an expression must begin with the name of a task or a root'));
  const innerProblem = problemOfInnerRoots(steps);
  if (innerProblem !== undefined) return err(innerProblem);
  const secret = secretOf(steps);
  if (!secret.ok) return secret;
  const field = nameAt(steps, 1);
  const name = field === undefined ? undefined : nameAt(steps, 2);
  return ok({ source, steps, head, field, name, secret: secret.value });
};

const ROOT_SIGN = /\s*(?:\$(?=[.[]))?\.?/y;

/** The names a text surely begins with, however it goes on: "a.b." gives a and b, "a.b" only a, since b may go on. */
export const leadingNames = (text: string): readonly string[] => {
  const cursor = new TextCursor(text);
  cursor.match(ROOT_SIGN);
  const names: string[] = [];
  for (let name = cursor.match(PATH_NAME); name !== undefined; name = cursor.match(PATH_NAME)) {
    if (!cursor.looksAt('.') && !cursor.looksAt('[')) break;
    names.push(name);
    if (!cursor.eat('.')) break;
  }
  return names;
};
