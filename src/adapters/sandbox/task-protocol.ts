import type { ScriptProblem } from '../../domain/execution/script.ts';
import type { Result } from '../../domain/kernel/result.ts';
import type { ScriptWrap } from '../../ports/script-sandbox.ts';

/** What the pool asks a sandbox thread. Input and result travel as JSON text, which is cheaper to copy than objects. */
export type TaskJob = Readonly<
  | { kind: 'script'; source: string; bindingsJson: string; wrap: ScriptWrap; nowMs: number; seed: number }
  | { kind: 'jq'; query: string; inputJson: string }
>;

/** `started`: the interpreter is loaded, time runs from here. `done`: the JSON text of the result, for jq of the list. */
export type TaskReply = Readonly<
  | { kind: 'started' }
  | { kind: 'done'; result: Result<string, ScriptProblem> /** The thread must not be used again. */; isSpent: boolean }
>;
