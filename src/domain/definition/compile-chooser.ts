import { isGrammarCondition } from '../expression/condition.ts';
import { parseJsonPath } from '../expression/json-path-parser.ts';
import { childPath } from '../kernel/value-path.ts';
import { type Compilation, type Draft, isBlank, report } from './compilation.ts';
import type { Chooser } from './plan.ts';
import { compiledOrProblems } from './templates.ts';
import type { TaskNodeDefinition } from './workflow-definition.ts';

const SCRIPT_EVALUATORS: ReadonlySet<string> = new Set(['javascript', 'graaljs']);
const VALUE_EVALUATORS: ReadonlySet<string> = new Set(['value-param', 'jsonpath']);

/** Evaluators of SWITCH and DO_WHILE that this version has. */
export const KNOWN_EVALUATORS = [...VALUE_EVALUATORS, ...SCRIPT_EVALUATORS];

export const isScriptEvaluator = (evaluator: string): boolean => SCRIPT_EVALUATORS.has(evaluator);

const templateChooser = (text: string, path: string, compilation: Compilation): Chooser | undefined => {
  const template = compiledOrProblems(text, path, compilation.problems);
  return template === undefined ? undefined : { kind: 'template', template };
};

const WORKFLOW_PATH = /^\$\.workflow\./;

/**
 * The template that the path of a node means. `$…` reads the resolved inputs, as `$` does in a script, unless it begins with
 * `$.workflow.`; a bare name is an input; all else is a path as it stands inside `${…}`. Undefined where it reads inputs.
 */
export const templateOfPath = ({ inputParameters }: TaskNodeDefinition, source: string): string | undefined => {
  if (source.includes('${')) return source;
  const bare = bareOf(source);
  return bare.startsWith('$') || Object.hasOwn(inputParameters, bare) ? undefined : `\${${bare}}`;
};

const bareOf = (source: string): string => source.trim().replace(WORKFLOW_PATH, 'workflow.');

const pathChooser = (draft: Draft, source: string, path: string, compilation: Compilation): Chooser | undefined => {
  const template = templateOfPath(draft.definition, source);
  if (template !== undefined) return templateChooser(template, path, compilation);
  const bare = bareOf(source);
  return bare.startsWith('$') ? inputPathChooser(bare, path, compilation) : { kind: 'input', name: bare };
};

const inputPathChooser = (source: string, path: string, compilation: Compilation): Chooser | undefined => {
  const parsed = parseJsonPath(source);
  if (parsed.ok) return { kind: 'path', path: parsed.value };
  return report(compilation, 'EXPRESSION_INVALID', parsed.error.message, path);
};

const valueChooser = (source: string, path: string, compilation: Compilation): Chooser | undefined =>
  source.includes('${') ? templateChooser(source, path, compilation) : { kind: 'input', name: source.trim() };

/** How a SWITCH chooses its case. Undefined, with a problem added, when it cannot. */
const switchChooser = (draft: Draft, compilation: Compilation): Chooser | undefined => {
  const { evaluatorType = 'value-param', expression } = draft.definition;
  const path = childPath(draft.path, 'expression');
  if (isBlank(expression)) return report(compilation, 'VALIDATION_FAILED', 'a SWITCH needs an expression', path);
  if (SCRIPT_EVALUATORS.has(evaluatorType)) return { kind: 'script', source: expression };
  if (evaluatorType === 'value-param') return valueChooser(expression, path, compilation);
  return pathChooser(draft, expression, path, compilation);
};

const decisionChooser = (draft: Draft, compilation: Compilation): Chooser | undefined => {
  const { caseExpression, caseValueParam } = draft.definition;
  if (!isBlank(caseExpression)) return { kind: 'script', source: caseExpression };
  if (!isBlank(caseValueParam)) return { kind: 'input', name: caseValueParam };
  const message = 'a DECISION needs a caseValueParam or a caseExpression';
  return report(compilation, 'VALIDATION_FAILED', message, childPath(draft.path, 'caseValueParam'));
};

export const caseChooser = (draft: Draft, compilation: Compilation): Chooser | undefined =>
  draft.definition.type === 'SWITCH' ? switchChooser(draft, compilation) : decisionChooser(draft, compilation);

/** How a DO_WHILE decides on another iteration, given that its condition is not empty. */
export const loopChooser = (draft: Draft, condition: string, compilation: Compilation): Chooser | undefined => {
  const evaluator = draft.definition.evaluatorType;
  const path = childPath(draft.path, 'loopCondition');
  if (evaluator === 'jsonpath') return pathChooser(draft, condition, path, compilation);
  if (isGrammarCondition(condition)) return { kind: 'condition', source: condition };
  return evaluator === 'value-param'
    ? valueChooser(condition, path, compilation)
    : { kind: 'script', source: condition };
};
