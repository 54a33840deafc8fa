import type { JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type {
  JqOutput,
  RunJqRequest,
  RunScriptRequest,
  TaskSandbox,
  TaskScriptProblem,
} from '../../ports/script-sandbox.ts';
import { fromJsonText, toJsonText } from './json-text.ts';
import { sourceProblem } from './script-engine.ts';
import { TASK_BYTES_MAX } from './task-limits.ts';
import type { TaskJob } from './task-protocol.ts';
import { TaskThreadPool } from './task-thread-pool.ts';

type JobOf = (inputJson: string) => TaskJob;
type Answer<T> = Promise<Result<T, TaskScriptProblem>>;

const inputText = (input: JsonValue): Result<string, TaskScriptProblem> => {
  const text = toJsonText(input);
  if (!text.ok || Buffer.byteLength(text.value) <= TASK_BYTES_MAX) return text;
  return err({ code: 'SCRIPT_LIMIT', message: `the input is larger than ${TASK_BYTES_MAX} bytes` });
};

const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);

const jqOutputOf = (list: JsonValue): JqOutput => {
  const resultList = isArray(list) ? list : [];
  return { result: resultList[0] ?? null, resultList };
};

/**
 * Makes the sandbox for INLINE, LAMBDA and JSON_JQ_TRANSFORM: up to `workersMax` threads, started when first needed, that
 * keep no idle process alive. A job that takes too long loses its thread. Close it at shutdown.
 *
 * @param options.workersMax number of threads, and of jobs that run at a time
 */
export const createTaskSandbox = (options: Readonly<{ workersMax: number }>): TaskSandbox => {
  const pool = new TaskThreadPool(options.workersMax);
  const run = async (source: string, input: JsonValue, timeoutMs: number, jobOf: JobOf): Answer<JsonValue> => {
    const tooLong = sourceProblem(source);
    if (tooLong !== undefined) return err(tooLong);
    const inputJson = inputText(input);
    if (!inputJson.ok) return inputJson;
    const done = await pool.run(jobOf(inputJson.value), timeoutMs);
    return done.ok ? ok(fromJsonText(done.value)) : done;
  };
  return {
    runScript: ({ source, bindings, wrap, nowMs, seed, timeoutMs }: RunScriptRequest): Answer<JsonValue> =>
      run(source, bindings, timeoutMs, (bindingsJson) => ({ kind: 'script', source, bindingsJson, wrap, nowMs, seed })),
    runJq: async ({ query, input, timeoutMs }: RunJqRequest): Answer<JqOutput> => {
      const list = await run(query, input, timeoutMs, (inputJson) => ({ kind: 'jq', query, inputJson }));
      return list.ok ? ok(jqOutputOf(list.value)) : list;
    },
    close: () => pool.close(),
  };
};
