import type { ClosedExecutionStatus } from '../execution/statuses.ts';
import { keyAt } from '../execution/task-key.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { jsonBytes } from '../kernel/json-depth.ts';
import { resolvedInput, type TaskSemantics } from './task-semantics.ts';

/** Most that the variables of one run may hold together, in bytes of JSON. */
export const VARIABLES_BYTES_MAX = 256 * 1024;

const REASON_JSON_CHARS_MAX = 200;

export const noop: TaskSemantics<'NOOP'> = {
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    return resolved.ok ? { kind: 'resolve', input: resolved.input, output: {} } : resolved.step;
  },
};

/** Merges its input into the variables, seen by the very next task. */
export const setVariable: TaskSemantics<'SET_VARIABLE'> = {
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const { input } = resolved;
    if (jsonBytes({ ...context.state.variables, ...input }) > VARIABLES_BYTES_MAX) {
      return { kind: 'refuse', input: {}, reason: `The variables would exceed ${VARIABLES_BYTES_MAX} bytes.` };
    }
    return { kind: 'resolve', input, output: input, effect: { variables: input } };
  },
};

const STATUSES: readonly string[] = ['COMPLETED', 'FAILED', 'TERMINATED'] satisfies ClosedExecutionStatus[];

const workflowOutput = (input: JsonObject): JsonObject => {
  const output = input.workflowOutput;
  if (isJsonObject(output)) return output;
  return output === undefined || output === null ? {} : { output };
};

/** A run that did not complete always says why: an absent or empty reason, as an expression may give, names the task. */
const terminationReason = (given: JsonValue | undefined, status: string, key: string): string | undefined => {
  if (given !== undefined && given !== null && given !== '') {
    return typeof given === 'string' ? given : JSON.stringify(given).slice(0, REASON_JSON_CHARS_MAX);
  }
  return status === 'COMPLETED' ? undefined : `Task ${key} ended the run with status ${status}.`;
};

/** Ends the run with a status, a reason and an output. */
export const terminate: TaskSemantics<'TERMINATE'> = {
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const { input } = resolved;
    const status = input.terminationStatus;
    if (typeof status !== 'string' || !STATUSES.includes(status)) {
      return {
        kind: 'refuse',
        input,
        reason: `terminationStatus ${JSON.stringify(status ?? null)} is none of ${STATUSES.join(', ')}.`,
      };
    }
    const reason = terminationReason(input.terminationReason, status, keyAt(context.node.ref, context.path));
    const output = workflowOutput(input);
    return {
      kind: 'resolve',
      input,
      output,
      effect: {
        termination: {
          status: status as ClosedExecutionStatus,
          output,
          ...(reason === undefined ? {} : { reason }),
        },
      },
    };
  },
};

/** A Conductor type that this version does not execute. */
export const unsupported: TaskSemantics<'UNSUPPORTED'> = {
  family: 'operator',
  enter: (context) => ({
    kind: 'refuse',
    input: {},
    reason: `Tasks of type ${context.node.declaredType} are not executed by this version of Rondo.`,
  }),
};
