import type { JsonObject, JsonValue } from '../kernel/json.ts';
import type { Result } from '../kernel/result.ts';

/**
 * What went wrong with a user's script. SCRIPT_SYNTAX: it does not parse. SCRIPT_FAILED: it threw, or its result has no
 * JSON form. SCRIPT_LIMIT: it used up its work, memory, source, input or output limit.
 */
export type ScriptProblem = Readonly<{ code: 'SCRIPT_FAILED' | 'SCRIPT_LIMIT' | 'SCRIPT_SYNTAX'; message: string }>;

/**
 * Evaluates a user's script that steers a workflow. The script sees `bindings` as `$` and nothing else, no clock and no
 * chance, so the same source and bindings give the same result on every machine. The result is the completion value of
 * the source as a program, taken through JSON: undefined, functions and NaN become null.
 */
export type EvaluateScript = (source: string, bindings: JsonObject) => Result<JsonValue, ScriptProblem>;
