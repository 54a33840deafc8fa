import { isGrammarCondition, referencesOfCondition } from '../expression/condition.ts';
import { parseCondition } from '../expression/condition-parser.ts';
import { compileTemplate } from '../expression/parse-template.ts';
import { type References, referencesOf } from '../expression/references.ts';
import type { JsonValue } from '../kernel/json.ts';
import { childPath } from '../kernel/value-path.ts';
import type { CheckContext } from './check-context.ts';
import { isBlank } from './compilation.ts';
import { isScriptEvaluator, templateOfPath } from './compile-chooser.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import type { NodePlace } from './node-children.ts';
import { subWorkflowParts } from './sub-workflow-parts.ts';
import { expressionProblem, textsIn } from './templates.ts';
import type { TaskNodeDefinition } from './workflow-definition.ts';

const ROOT_NAMES = 'workflow, global, env, secrets';

const unknownRefs = (references: References, path: string, context: CheckContext): readonly DefinitionProblem[] =>
  [...references.tasks]
    .filter((ref) => !context.byRef.has(ref))
    .map((ref) =>
      expressionProblem(`"${ref}" is no task of this definition and no root of expressions (${ROOT_NAMES})`, path),
    );

const secretsIn = (references: References, path: string): readonly DefinitionProblem[] =>
  [...references.secrets].map((name) =>
    expressionProblem(`the secret "${name}" can be given to a task as input, but not be read here`, path),
  );

type Judge = (references: References, path: string) => readonly DefinitionProblem[];

/** Judges each expression of a value on its own; what does not parse is the compiler's to report. */
const judged = (value: JsonValue, path: string, judge: Judge): readonly DefinitionProblem[] => {
  const compiled = compileTemplate(value, path);
  if (!compiled.ok) return [];
  return textsIn(compiled.value, path).flatMap((found) => judge(referencesOf(found.text), found.path));
};

/** Conductor looks at the inputs of top-level tasks only, and what it lets pass gives null when it is evaluated. */
const isJudgedByConductor = (place: NodePlace): boolean => place.parent === undefined;

const inputProblems = (place: NodePlace, context: CheckContext): readonly DefinitionProblem[] => {
  if (context.workflow.dialect === 'conductor' && !isJudgedByConductor(place)) return [];
  const path = childPath(place.path, 'inputParameters');
  return judged(place.node.inputParameters, path, (references, at) => unknownRefs(references, at, context));
};

/** The key of a cache is made of the inputs of its own task, those that its task definition fills in among them. */
const cacheKeyProblems = (place: NodePlace, context: CheckContext): readonly DefinitionProblem[] => {
  const { cacheConfig, inputParameters, name, taskDefinition } = place.node;
  if (cacheConfig === undefined || context.workflow.dialect === 'conductor') return [];
  const registered = Object.hasOwn(context.taskDefinitions, name) ? context.taskDefinitions[name] : undefined;
  const inputs = { ...(taskDefinition ?? registered)?.inputTemplate, ...inputParameters };
  const path = childPath(childPath(place.path, 'cacheConfig'), 'key');
  return judged(cacheConfig.key, path, (references, at) =>
    [...references.tasks]
      .filter((head) => !Object.hasOwn(inputs, head))
      .map((head) => expressionProblem(`"${head}" is no input of this step`, at)),
  );
};

/** Fields beside the input that hold templates: what they choose must be visible, so no secret may steer. */
const steeringProblems = (place: NodePlace, context: CheckContext): readonly DefinitionProblem[] => {
  const { items, loopCondition, type } = place.node;
  const judge = visibleIn(context);
  const at = (field: string): string => childPath(place.path, field);
  const condition =
    loopCondition !== undefined && isGrammarCondition(loopCondition) ? parseCondition(loopCondition) : undefined;
  return [
    ...pathsOf(place.node).flatMap(({ text, field }) => judged(text, at(field), judge)),
    ...(type === 'SUB_WORKFLOW' ? judged(subWorkflowParts(place.node).rest, at('subWorkflowParam'), judge) : []),
    ...(type === 'DO_WHILE' && items !== undefined ? judged(items, at('items'), judge) : []),
    ...(type === 'DO_WHILE' && condition?.ok === true
      ? judge(referencesOfCondition(condition.value), at('loopCondition'))
      : []),
  ];
};

const visibleIn =
  (context: CheckContext): Judge =>
  (references, at) => [...unknownRefs(references, at, context), ...secretsIn(references, at)];

type PathText = Readonly<{ text: string; field: 'expression' | 'loopCondition' }>;

/** What a SWITCH or a loop reads through a template, or a path that means one. */
const pathsOf = (node: TaskNodeDefinition): readonly PathText[] => {
  const { evaluatorType, expression, loopCondition, type } = node;
  const meant = (source: string): string | undefined =>
    evaluatorType === 'jsonpath' ? templateOfPath(node, source) : source;
  if (type === 'SWITCH' && !isBlank(expression) && !isScriptEvaluator(evaluatorType ?? '')) {
    const text = meant(expression);
    return text === undefined ? [] : [{ text, field: 'expression' }];
  }
  if (type !== 'DO_WHILE' || isBlank(loopCondition) || evaluatorType !== 'jsonpath') return [];
  const text = meant(loopCondition);
  return text === undefined || isGrammarCondition(loopCondition) ? [] : [{ text, field: 'loopCondition' }];
};

/** Templates that Conductor stores without a look: the template of a task definition, a sink, what listeners are told. */
const unjudgedByConductor = (place: NodePlace, context: CheckContext): readonly DefinitionProblem[] => {
  if (context.workflow.dialect === 'conductor') return [];
  const { extra, taskDefinition, type } = place.node;
  const at = (field: string): string => childPath(place.path, field);
  const unknown: Judge = (references, path) => unknownRefs(references, path, context);
  const template = taskDefinition?.inputTemplate ?? {};
  return [
    ...judged(template, childPath(at('taskDefinition'), 'inputTemplate'), unknown),
    ...(type === 'EVENT' ? judged(extra.sink ?? null, at('sink'), visibleIn(context)) : []),
    ...judged(extra.onStateChange ?? null, at('onStateChange'), unknown),
  ];
};

const listenersOfAll = (context: CheckContext): readonly DefinitionProblem[] => {
  const { dialect, extra } = context.workflow;
  if (dialect === 'conductor') return [];
  return judged(extra.onStateChange ?? null, 'onStateChange', (references, at) => unknownRefs(references, at, context));
};

const outputProblems = (context: CheckContext): readonly DefinitionProblem[] => {
  const { outputParameters, dialect } = context.workflow;
  if (outputParameters === undefined) return [];
  return judged(outputParameters, 'outputParameters', (references, at) => [
    ...(dialect === 'v1' ? unknownRefs(references, at, context) : []),
    ...secretsIn(references, at),
  ]);
};

/** Nothing of a run has happened when its key is resolved: it can read what the start brought, and no task. */
const rateLimitProblems = ({ workflow }: CheckContext): readonly DefinitionProblem[] => {
  const key = workflow.rateLimitConfig?.rateLimitKey;
  if (key === undefined) return [];
  return judged(key, 'rateLimitConfig.rateLimitKey', (references, at) => [
    ...[...references.tasks].map((ref) => expressionProblem(`"${ref}" is not known when a run starts`, at)),
    ...secretsIn(references, at),
  ]);
};

/** Expressions that name no task, and secrets where they would become visible. Problems: EXPRESSION_INVALID. */
export const checkReferences = (context: CheckContext): readonly DefinitionProblem[] => [
  ...context.places.flatMap((place) => [
    ...inputProblems(place, context),
    ...steeringProblems(place, context),
    ...cacheKeyProblems(place, context),
    ...unjudgedByConductor(place, context),
  ]),
  ...listenersOfAll(context),
  ...outputProblems(context),
  ...rateLimitProblems(context),
];
