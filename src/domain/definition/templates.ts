import { type CompiledTemplate, compileTemplate } from '../expression/parse-template.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { childPath } from '../kernel/value-path.ts';
import type { DefinitionProblem } from './definition-problem.ts';

export const expressionProblem = (message: string, path: string): DefinitionProblem => ({
  code: 'EXPRESSION_INVALID',
  message,
  path,
});

/** Compiles a value that may hold `${…}`. What does not parse is added to the problems and answered with undefined. */
export const compiledOrProblems = (
  value: JsonValue,
  path: string,
  problems: DefinitionProblem[],
): CompiledTemplate | undefined => {
  const compiled = compileTemplate(value, path);
  if (compiled.ok) return compiled.value;
  problems.push(...compiled.error.map((problem) => expressionProblem(problem.message, problem.path)));
  return undefined;
};

/** What is wrong with the expressions of a value, whatever they name. */
export const templateProblems = (value: JsonValue, path: string): readonly DefinitionProblem[] => {
  const problems: DefinitionProblem[] = [];
  compiledOrProblems(value, path, problems);
  return problems;
};

const entriesOf = (compiled: CompiledTemplate): readonly (readonly [string, CompiledTemplate])[] => {
  if (compiled.kind === 'object') return compiled.entries;
  if (compiled.kind !== 'constant') return [];
  return Object.entries(compiled.value as JsonObject).map(
    ([key, value]) => [key, { kind: 'constant', value }] as const,
  );
};

/** Lays data over a compiled object: keys that data gives are taken as they are and hold no expressions. */
export const withLiteral = (compiled: CompiledTemplate, literal: JsonObject): CompiledTemplate => ({
  kind: 'object',
  entries: [
    ...entriesOf(compiled).filter(([key]) => !Object.hasOwn(literal, key)),
    ...Object.entries(literal).map(([key, value]) => [key, { kind: 'constant', value }] as const),
  ],
});

type CompiledText = Extract<CompiledTemplate, { kind: 'text' }>;

/** The strings of a compiled value that hold expressions, each with the path it stands at. */
export const textsIn = (
  compiled: CompiledTemplate,
  path: string,
): readonly Readonly<{ text: CompiledText; path: string }>[] => {
  switch (compiled.kind) {
    case 'constant':
      return [];
    case 'text':
      return [{ text: compiled, path }];
    case 'list':
      return compiled.items.flatMap((item, index) => textsIn(item, childPath(path, index)));
    case 'object':
      return compiled.entries.flatMap(([key, item]) => textsIn(item, childPath(path, key)));
  }
};
