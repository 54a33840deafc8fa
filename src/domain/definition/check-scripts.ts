import { isGrammarCondition } from '../expression/condition.ts';
import { isLiteralCondition, parseCondition } from '../expression/condition-parser.ts';
import { childPath } from '../kernel/value-path.ts';
import { type CheckContext, inputPath, isLiteral } from './check-context.ts';
import { isBlank } from './compilation.ts';
import { isScriptEvaluator } from './compile-chooser.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import type { NodePlace } from './node-children.ts';
import { unknownNames } from './script-names.ts';
import { expressionProblem } from './templates.ts';

/** A script of a node, where it stands, and what becomes of its result. */
type Script = Readonly<{ source: string; path: string; wrap: 'program' | 'function'; decides: boolean }>;

const steering = (source: string | undefined, path: string, decides: boolean): readonly Script[] =>
  isBlank(source) ? [] : [{ source, path, wrap: 'program', decides }];

/** A script in the input that an expression will complete can be parsed only when it runs. */
const inputScript = (place: NodePlace, name: string): readonly Script[] => {
  const source = place.node.inputParameters[name];
  if (typeof source !== 'string' || !isLiteral(source) || source.trim() === '') return [];
  return [{ source, path: inputPath(place, name), wrap: 'function', decides: false }];
};

const isLoopScript = (place: NodePlace, condition: string): boolean => {
  const evaluator = place.node.evaluatorType;
  return evaluator !== 'value-param' && evaluator !== 'jsonpath' && !isGrammarCondition(condition);
};

const scriptsOf = (place: NodePlace): readonly Script[] => {
  const { node } = place;
  const at = (field: string): string => childPath(place.path, field);
  switch (node.type) {
    case 'SWITCH':
      return isScriptEvaluator(node.evaluatorType ?? '') ? steering(node.expression, at('expression'), true) : [];
    case 'DECISION':
      return steering(node.caseExpression, at('caseExpression'), true);
    case 'JOIN':
      return steering(node.expression, at('expression'), false);
    case 'DO_WHILE':
      return isLoopScript(place, node.loopCondition ?? '')
        ? steering(node.loopCondition, at('loopCondition'), true)
        : [];
    case 'LAMBDA':
      return inputScript(place, 'scriptExpression');
    case 'INLINE':
      return isScriptEvaluator(String(node.inputParameters.evaluatorType ?? 'javascript'))
        ? inputScript(place, 'expression')
        : [];
    default:
      return [];
  }
};

/** `true` and `false` are written on purpose: a loop that a TERMINATE or a signal ends, or one that runs once. */
const ON_PURPOSE: ReadonlySet<string> = new Set(['true', 'false']);

const isConstant = (source: string): boolean => !source.includes('$') && !ON_PURPOSE.has(source.trim());

const constantProblems = (script: Script, context: CheckContext): readonly DefinitionProblem[] => {
  if (!script.decides || context.workflow.dialect !== 'v1' || !isConstant(script.source)) return [];
  const hint = isLiteralCondition(script.source)
    ? 'what it compares is literal text: what is to be read stands in $ and braces'
    : 'it reads nothing, so it always decides the same: a script reads its inputs through $';
  return [expressionProblem(hint, script.path)];
};

/** A `${…}` where it cannot be part of JavaScript was meant for the comparison grammar: its problem says more. */
const grammarProblem = (source: string): string | undefined => {
  if (!source.includes('${') || source.includes('`')) return undefined;
  const parsed = parseCondition(source);
  return parsed.ok ? undefined : parsed.error.message;
};

const NAMES: Readonly<Record<string, string>> = {
  DO_WHILE: 'the inputs of the loop, the tasks of its body and the loop itself',
  JOIN: 'joinOn and the tasks that it joins',
};

/** Conductor stores them without a look; there the script sees undefined when it runs. */
const nameProblems = (place: NodePlace, script: Script, context: CheckContext): readonly DefinitionProblem[] => {
  if (script.wrap !== 'program' || context.workflow.dialect !== 'v1') return [];
  const what = NAMES[place.node.type] ?? 'its inputs';
  return unknownNames(place, script.source).map((name) =>
    expressionProblem(`the script reads $.${name}, which is never there: $ holds ${what}`, script.path),
  );
};

const scriptProblems = (place: NodePlace, script: Script, context: CheckContext): readonly DefinitionProblem[] => {
  const constant = constantProblems(script, context);
  if (constant.length > 0) return constant;
  const checked = context.checkScript(script.source, script.wrap);
  if (checked.ok) return nameProblems(place, script, context);
  return [expressionProblem(grammarProblem(script.source) ?? checked.error.message, script.path)];
};

/** Scripts that do not parse, and on /v1 conditions that could only be one constant, and names that no script finds. Problems: EXPRESSION_INVALID. */
export const checkScripts = (context: CheckContext): readonly DefinitionProblem[] =>
  context.places.flatMap((place) => scriptsOf(place).flatMap((script) => scriptProblems(place, script, context)));
