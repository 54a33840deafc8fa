import type { ScriptProblem } from '../../domain/execution/script.ts';
import type { JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';

const withoutPrototypeKey = (key: string, value: JsonValue): JsonValue | undefined =>
  key === '__proto__' ? undefined : value;

/** Reads JSON that a script has made. Keys called `__proto__` are dropped: the domain holds no object with one. */
export const fromJsonText = (text: string): JsonValue =>
  (text.includes('"__proto__"') ? JSON.parse(text, withoutPrototypeKey) : JSON.parse(text)) as JsonValue;

/** Writes the input of a script. Answers SCRIPT_LIMIT for input nested so deep, some thousand levels, that it cannot be written. */
export const toJsonText = (value: JsonValue): Result<string, ScriptProblem> => {
  try {
    return ok(JSON.stringify(value));
  } catch (error) {
    if (error instanceof RangeError) return err({ code: 'SCRIPT_LIMIT', message: 'the input is nested too deep' });
    throw error;
  }
};
