import type { Chooser } from '../definition/plan.ts';
import { modeOf } from '../execution/scope.ts';
import { evaluateCondition } from '../expression/condition.ts';
import { parseCondition } from '../expression/condition-parser.ts';
import { evaluateTemplate } from '../expression/evaluate.ts';
import { evaluateJsonPath } from '../expression/json-path.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { type EnterContext, inputNamed } from './task-semantics.ts';

/** The value that a chooser gives over resolved bindings, or why it gives none. */
export const choose = (context: EnterContext, chooser: Chooser, bindings: JsonObject): Result<JsonValue, string> => {
  switch (chooser.kind) {
    case 'input':
      return ok(inputNamed(bindings, chooser.name) ?? null);
    case 'template': {
      const result = evaluateTemplate(chooser.template, context.scope, modeOf(context.state));
      return result.ok ? ok(result.value.value) : err(result.error.message);
    }
    case 'path': {
      const result = evaluateJsonPath(chooser.path, bindings);
      return result.ok ? ok(result.value) : err(result.error.message);
    }
    case 'script': {
      const result = context.environment.evaluateScript(chooser.source, bindings);
      return result.ok ? ok(result.value) : err(result.error.message);
    }
    case 'condition': {
      const condition = parseCondition(chooser.source);
      if (!condition.ok) return err(condition.error.message);
      const result = evaluateCondition(condition.value, context.scope);
      return result.ok ? ok(result.value) : err(result.error.message);
    }
    default:
      return chooser satisfies never;
  }
};

/** A chosen value as the label of a case. */
export const caseLabel = (value: JsonValue): string => {
  if (typeof value === 'string') return value;
  return value === null ? 'null' : JSON.stringify(value);
};
