import type { JoinNode } from '../definition/plan.ts';
import { targetKey, waitsForBranches } from '../execution/join-state.ts';
import type { TaskEntry } from '../execution/state.ts';
import { keyAt } from '../execution/task-key.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { type Review, type ReviewContext, resolvedInput, type TaskSemantics } from './task-semantics.ts';

type Context = ReviewContext<'JOIN'>;

const forkOf = (context: Context): TaskEntry | undefined =>
  context.node.fork === undefined ? undefined : context.state.tasks.get(keyAt(context.node.fork, context.path));

/** The tasks whose outputs the join hands on: those named, else the last of each branch. */
const joined = (context: Context): readonly TaskEntry[] => {
  const fork = forkOf(context);
  const refs: readonly string[] =
    waitsForBranches(context.node, fork) && fork?.phase.kind === 'fork'
      ? fork.phase.branches.map((branch) => branch.nodes.at(-1)?.ref ?? '')
      : context.node.joinOn;
  const entries: TaskEntry[] = [];
  for (const ref of refs) {
    const key = targetKey(context.state, context.entry, ref);
    const entry = key === undefined ? undefined : context.state.tasks.get(key);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
};

/** A failure that a permissive task left in a branch; any other failure ended the run before. */
const failedBranch = (context: Context, entries: readonly TaskEntry[]): TaskEntry | undefined => {
  const failed = entries.find((entry) => entry.ending === 'failed');
  if (failed !== undefined) return failed;
  const fork = forkOf(context);
  if (!waitsForBranches(context.node, fork) || fork?.phase.kind !== 'fork') return undefined;
  return [...fork.phase.ended.values()].includes('failed') ? fork : undefined;
};

const outputs = (entries: readonly TaskEntry[]): JsonObject => {
  const output: Record<string, JsonValue> = {};
  for (const entry of entries) {
    if (Object.keys(entry.output).length > 0) output[entry.node.ref] = entry.output;
  }
  return output;
};

const closeAll = (context: Context, entries: readonly TaskEntry[]): Review => {
  const output = outputs(entries);
  const failed = failedBranch(context, entries);
  if (failed !== undefined && !context.node.optional) {
    return { kind: 'close', status: 'FAILED', output, reason: `${failed.key}: ${failed.reason ?? 'a branch failed'}` };
  }
  const excused = failed !== undefined || entries.some((entry) => entry.status === 'COMPLETED_WITH_ERRORS');
  return { kind: 'close', status: excused ? 'COMPLETED_WITH_ERRORS' : 'COMPLETED', output };
};

/** Orkes' join script: `$.joinOn`, `$[ref] = {status, output}`; true closes, an object closes with its status. */
const runScript = (context: Context, script: string, entries: readonly TaskEntry[], done: boolean): Review => {
  const bindings: Record<string, JsonValue> = { joinOn: joinOnRefs(context.node, entries) };
  for (const entry of entries) bindings[entry.node.ref] = { status: entry.status, output: entry.output };
  const result = context.environment.evaluateScript(script, bindings);
  if (!result.ok) {
    return {
      kind: 'close',
      status: 'FAILED_WITH_TERMINAL_ERROR',
      output: {},
      reason: `The join script failed: ${result.error.message}`,
    };
  }
  if (result.value === true) return closeAll(context, entries);
  if (isJsonObject(result.value) && typeof result.value.status === 'string')
    return scripted(context, result.value, entries);
  // All it could wait for has ended: waiting on would strand the run.
  return done ? closeAll(context, entries) : { kind: 'wait' };
};

const joinOnRefs = (node: JoinNode, entries: readonly TaskEntry[]): readonly string[] =>
  node.joinOn.length > 0 ? node.joinOn : entries.map((entry) => entry.node.ref);

const scripted = (context: Context, answer: JsonObject, entries: readonly TaskEntry[]): Review => {
  const data = answer.outputData;
  const output = isJsonObject(data) ? data : outputs(entries);
  const reason = answer.reasonForIncompletion;
  const why = typeof reason === 'string' ? { reason } : {};
  switch (answer.status) {
    case 'COMPLETED':
    case 'COMPLETED_WITH_ERRORS':
      return { kind: 'close', status: answer.status, output, ...why };
    case 'FAILED':
    case 'FAILED_WITH_TERMINAL_ERROR':
      return {
        kind: 'close',
        status: context.node.optional ? 'COMPLETED_WITH_ERRORS' : answer.status,
        output,
        ...why,
      };
    default:
      return { kind: 'wait' };
  }
};

/** Waits for the named tasks, or for all branches, and hands on their outputs by ref. */
export const join: TaskSemantics<'JOIN'> = {
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    return resolved.ok ? { kind: 'open', input: resolved.input } : resolved.step;
  },
  review: (context) => {
    if (context.entry.phase.kind !== 'join') return { kind: 'wait' };
    const done = context.entry.phase.pending.size === 0;
    if (context.node.script !== undefined) return runScript(context, context.node.script, joined(context), done);
    return done ? closeAll(context, joined(context)) : { kind: 'wait' };
  },
};
