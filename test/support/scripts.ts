import { createContext, runInContext } from 'node:vm';
import type { EvaluateScript } from '../../src/domain/execution/script.ts';
import type { JsonValue } from '../../src/domain/kernel/json.ts';
import { err, ok } from '../../src/domain/kernel/result.ts';

const globals: { $?: unknown } = {};
const context = createContext(globals);

/** Stands in for the sandbox: the JavaScript of the engine that runs the tests, which wrote the scripts themselves. */
export const evaluateScript: EvaluateScript = (source, bindings) => {
  globals.$ = structuredClone(bindings);
  try {
    const value: unknown = runInContext(source, context);
    return ok(JSON.parse(JSON.stringify(value ?? null)) as JsonValue);
  } catch (error) {
    return err({ code: 'SCRIPT_FAILED', message: error instanceof Error ? error.message : String(error) });
  }
};
