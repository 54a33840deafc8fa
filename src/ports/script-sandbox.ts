import type { EvaluateScript, ScriptProblem } from '../domain/execution/script.ts';
import type { JsonObject, JsonValue } from '../domain/kernel/json.ts';
import type { Result } from '../domain/kernel/result.ts';

/**
 * How a source becomes a result. `program`: the completion value of the source. `function`: the same, but a source that
 * only parses inside a function, because it has a `return` of its own, is the body of one.
 */
export type ScriptWrap = 'program' | 'function';

/** Evaluates the scripts that steer a workflow, synchronously, inside the pass. */
export interface SteeringSandbox {
  readonly evaluate: EvaluateScript;
  /** Parses a source without running it. Answers SCRIPT_SYNTAX, or SCRIPT_LIMIT for a source that is too long. */
  checkSyntax(source: string, wrap: ScriptWrap): Result<void, ScriptProblem>;
}

export type RunScriptRequest = Readonly<{
  source: string;
  /** What the script sees as `$`. */
  bindings: JsonObject;
  wrap: ScriptWrap;
  /** What the script's clock shows, in milliseconds since the epoch. It stands still while the script runs. */
  nowMs: number;
  /** Start of the script's sequence of random numbers: the same seed gives the same sequence. */
  seed: number;
  timeoutMs: number;
}>;

export type RunJqRequest = Readonly<{ query: string; input: JsonValue; timeoutMs: number }>;

/** The first result of a jq program, null if it has none, and all of them. */
export type JqOutput = Readonly<{ result: JsonValue; resultList: readonly JsonValue[] }>;

/** SANDBOX_UNAVAILABLE: the work was not done, for no fault of its own (queue full, shutting down); try again later. */
export type TaskScriptProblem = ScriptProblem | Readonly<{ code: 'SANDBOX_UNAVAILABLE'; message: string }>;

/** Runs the scripts of system tasks beside the event loop, each within its time limit. */
export interface TaskSandbox {
  runScript(request: RunScriptRequest): Promise<Result<JsonValue, TaskScriptProblem>>;
  runJq(request: RunJqRequest): Promise<Result<JqOutput, TaskScriptProblem>>;
  /** Ends the running work and refuses new work, both with SANDBOX_UNAVAILABLE. */
  close(): Promise<void>;
}
