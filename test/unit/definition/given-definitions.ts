import type { CheckScript } from '../../../src/domain/definition/check-context.ts';
import { checkDefinition } from '../../../src/domain/definition/check-definition.ts';
import { compilePlan } from '../../../src/domain/definition/compile-plan.ts';
import type { DefinitionProblem } from '../../../src/domain/definition/definition-problem.ts';
import { parseWorkflowDefinition } from '../../../src/domain/definition/parse-definition.ts';
import type { Plan } from '../../../src/domain/definition/plan.ts';
import type { TaskDefinition } from '../../../src/domain/definition/task-definition.ts';
import type { Dialect, WorkflowDefinition } from '../../../src/domain/definition/workflow-definition.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import { err, ok } from '../../../src/domain/kernel/result.ts';

/** Stands in for the sandbox: JavaScript parsed by the engine that runs the tests, never executed. */
export const checkScript: CheckScript = (source, wrap) => {
  try {
    new Function(wrap === 'function' ? source : `return (${source.trim().replace(/;+$/, '')})`);
    return ok(undefined);
  } catch {
    return err({ code: 'SCRIPT_SYNTAX', message: 'the script does not parse' });
  }
};

export const simple = (ref: string, fields: JsonObject = {}): JsonObject => ({
  name: ref,
  taskReferenceName: ref,
  type: 'SIMPLE',
  ...fields,
});

export const node = (type: string, ref: string, fields: JsonObject = {}): JsonObject =>
  simple(ref, { type, ...fields });

export const workflow = (tasks: readonly JsonValue[], fields: JsonObject = {}): JsonObject => ({
  name: 'checkout',
  version: 1,
  tasks,
  ...fields,
});

/** Every problem that registration finds, as "CODE path". */
export const problemsOf = (
  document: JsonValue,
  door: Dialect = 'v1',
  taskDefinitions: Readonly<Record<string, TaskDefinition>> = {},
): readonly string[] => {
  const parsed = parseWorkflowDefinition(document, door);
  const problems = parsed.ok ? checkDefinition({ workflow: parsed.value, taskDefinitions }, checkScript) : parsed.error;
  return problems.map((problem: DefinitionProblem) => `${problem.code} ${problem.path}`);
};

export const parsed = (document: JsonValue, door: Dialect = 'v1'): WorkflowDefinition => {
  const result = parseWorkflowDefinition(document, door);
  if (!result.ok) throw new Error(`does not parse: ${JSON.stringify(result.error)}`);
  return result.value;
};

export const planOf = (
  document: JsonValue,
  door: Dialect = 'v1',
  taskDefinitions: Readonly<Record<string, TaskDefinition>> = {},
): Plan => {
  const plan = compilePlan({ workflow: parsed(document, door), taskDefinitions }, 'hash-1');
  if (!plan.ok) throw new Error(`does not compile: ${JSON.stringify(plan.error)}`);
  return plan.value;
};
