import type { EvaluateScript } from '../../domain/execution/script.ts';
import { ok } from '../../domain/kernel/result.ts';
import type { SteeringSandbox } from '../../ports/script-sandbox.ts';
import { fromJsonText, toJsonText } from './json-text.ts';
import { ScriptEngine, type ScriptEngineLimits } from './script-engine.ts';

export const STEERING_LIMITS: ScriptEngineLimits = {
  /** 32 MiB. */
  memoryPagesMax: 512,
  /** 10 ms of a plain loop (270,000 turns), 50 ms of the costliest work found: allocating in native functions. */
  fuelMax: 2_500_000,
  /**
   * Enough for 1 MiB of ordinary objects, 40 ms. The costliest input found gives each of 60,000 objects a key of its own:
   * without a limit its parsing alone takes 10 s.
   */
  bindingsFuelMax: 8_000_000,
  bindingsBytesMax: 1024 * 1024,
  outputBytesMax: 256 * 1024,
};

/**
 * Starts the sandbox for scripts that steer (SWITCH, DO_WHILE, JOIN), about 80 ms. It runs them on the calling thread: a
 * script that does more than its share of work is stopped after 10 to 50 ms. Scripts have no clock and no
 * random numbers; using them is an error of the script.
 */
export const createSteeringSandbox = async (limits: ScriptEngineLimits = STEERING_LIMITS): Promise<SteeringSandbox> => {
  const engine = await ScriptEngine.start(limits);
  const evaluate: EvaluateScript = (source, bindings) => {
    const bindingsJson = toJsonText(bindings);
    if (!bindingsJson.ok) return bindingsJson;
    const json = engine.run(source, bindingsJson.value, 'program', undefined);
    return json.ok ? ok(fromJsonText(json.value)) : json;
  };
  return { evaluate, checkSyntax: (source, wrap) => engine.check(source, wrap) };
};
