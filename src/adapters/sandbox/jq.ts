import type { ScriptProblem } from '../../domain/execution/script.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import { parenthesizeObjectValues } from './jq-object-values.ts';
import { captureJqOutput, JqOutputLimitError, type JqPrinted } from './jq-output.ts';
import { MESSAGE_CHARS_MAX } from './script-prelude.ts';
import { TASK_BYTES_MAX } from './task-limits.ts';

/** The part of jq-web that is used: runs jq like the command line. An error it throws carries `exitCode`. */
type JqProgram = Readonly<{ raw(json: string, query: string, flags: readonly string[]): unknown }>;

export type Jq = Readonly<{ program: JqProgram; printed: JqPrinted }>;

/** `isBroken`: this jq was stopped half-way and cannot be trusted any more. */
export type JqOutcome = Readonly<{ result: Result<string, ScriptProblem>; isBroken: boolean }>;

const EXIT_COMPILE_ERROR = 3;
const PREFIXES = /^jq: (?:error(?: \(at [^)]*\))?(?: \(not a string\))?: )?/;
const LINE_BREAK = 0x0a;
const COMMA = 0x2c;

/** Loads jq into this thread, once: 100 ms. */
export const loadJq = async (): Promise<Jq> => {
  const printed = captureJqOutput(TASK_BYTES_MAX);
  const { default: program } = await import('jq-web');
  return { program: await program, printed };
};

const broken = (message: string): JqOutcome => ({ result: err({ code: 'SCRIPT_LIMIT', message }), isBroken: true });

const failed = (code: ScriptProblem['code'], message: string): JqOutcome => ({
  result: err({ code, message: message.slice(0, MESSAGE_CHARS_MAX) }),
  isBroken: false,
});

const outcomeOf = (error: unknown, errors: string): JqOutcome => {
  if (error instanceof JqOutputLimitError) return broken(`the result is larger than ${TASK_BYTES_MAX} bytes`);
  const { exitCode } = error as { exitCode?: number };
  const isOutOfMemory = exitCode === undefined || errors.includes('cannot allocate memory');
  if (isOutOfMemory) return broken('the jq program takes more memory or stack than its limit allows');
  const code = exitCode === EXIT_COMPILE_ERROR && errors.includes('compile error') ? 'SCRIPT_SYNTAX' : 'SCRIPT_FAILED';
  const message = errors.trim().replace(PREFIXES, '');
  return failed(code, message === '' ? `jq ended with exit code ${exitCode}` : message);
};

/** jq prints one result a line, and a line break inside of a text as `\n`: the lines are the elements of a list. */
const listOf = (results: Buffer): string => {
  const elements = results.subarray(0, -1);
  for (let at = elements.indexOf(LINE_BREAK); at >= 0; at = elements.indexOf(LINE_BREAK, at + 1)) elements[at] = COMMA;
  return `[${elements.toString('utf8')}]`;
};

const runOnce = ({ program, printed }: Jq, query: string, inputJson: string): JqOutcome => {
  printed.reset();
  try {
    // A query that starts with a dash would be read as an option.
    program.raw(inputJson, query.startsWith('-') ? ` ${query}` : query, ['-c']);
    return { result: ok(listOf(printed.results())), isBroken: false };
  } catch (error) {
    return outcomeOf(error, printed.errors());
  } finally {
    printed.reset();
  }
};

/**
 * Runs a jq program on one input.
 *
 * @returns the JSON text of the list of its results. SCRIPT_SYNTAX and SCRIPT_FAILED with jq's own message, SCRIPT_LIMIT
 *   for memory or output
 */
export const runJqProgram = (jq: Jq, query: string, inputJson: string): JqOutcome => {
  const outcome = runOnce(jq, query, inputJson);
  if (outcome.result.ok || outcome.result.error.code !== 'SCRIPT_SYNTAX') return outcome;
  const parenthesized = runOnce(jq, parenthesizeObjectValues(query), inputJson);
  const isStillWrong = !parenthesized.result.ok && parenthesized.result.error.code === 'SCRIPT_SYNTAX';
  return isStillWrong ? outcome : parenthesized;
};
