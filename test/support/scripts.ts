import { createContext, Script } from 'node:vm';
import type { EvaluateScript } from '../../src/domain/execution/script.ts';
import type { JsonValue } from '../../src/domain/kernel/json.ts';
import { err, ok } from '../../src/domain/kernel/result.ts';

const globals: { $?: unknown } = {};
const context = createContext(globals);
const compiled = new Map<string, Script>();

const scriptOf = (source: string): Script => {
  const script = compiled.get(source) ?? new Script(source);
  compiled.set(source, script);
  return script;
};

/** Stands in for the sandbox: the JavaScript of the engine that runs the tests, which wrote the scripts themselves. */
export const evaluateScript: EvaluateScript = (source, bindings) => {
  globals.$ = structuredClone(bindings);
  try {
    const value: unknown = scriptOf(source).runInContext(context);
    return ok(JSON.parse(JSON.stringify(value ?? null)) as JsonValue);
  } catch (error) {
    return err({ code: 'SCRIPT_FAILED', message: error instanceof Error ? error.message : String(error) });
  }
};
