import { fateOf, targetOf, waitsForBranches } from '../execution/join-state.ts';
import { payloadProblem } from '../execution/payload-limit.ts';
import type { JoinTarget, TaskEntry } from '../execution/state.ts';
import { keyAt } from '../execution/task-key.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { type Review, type ReviewContext, resolvedInput, type TaskSemantics } from './task-semantics.ts';

type Context = ReviewContext<'JOIN'>;

/** One thing that the join is about: the ref it is named by, where it is, and what ran of it. */
type Joined = Readonly<{ ref: string; target: JoinTarget | undefined; entry: TaskEntry | undefined }>;

const forkOf = (context: Context): TaskEntry | undefined =>
  context.node.fork === undefined ? undefined : context.state.tasks.get(keyAt(context.node.fork, context.path));

/** The tasks whose outputs the join hands on: those named, else the last of each branch. */
const joinedOf = (context: Context): readonly Joined[] => {
  const fork = forkOf(context);
  const refs =
    waitsForBranches(context.node, fork) && fork?.phase.kind === 'fork'
      ? fork.phase.branches.map((branch) => branch.nodes.at(-1)?.ref ?? '')
      : context.node.joinOn;
  return refs.map((ref) => {
    const target = targetOf(context.state, context.entry, ref);
    return { ref, target, entry: target === undefined ? undefined : context.state.tasks.get(target.key) };
  });
};

const fate = (context: Context, { target }: Joined): ReturnType<typeof fateOf> =>
  target === undefined ? 'over' : fateOf(context.state, target);

const outputs = (joined: readonly Joined[]): JsonObject => {
  const output: Record<string, JsonValue> = {};
  for (const { ref, entry } of joined) {
    if (entry !== undefined && Object.keys(entry.output).length > 0) output[ref] = entry.output;
  }
  return output;
};

type Failing = 'FAILED' | 'FAILED_WITH_TERMINAL_ERROR';

const failed = (context: Context, status: Failing, output: JsonObject, reason: string): Review => ({
  kind: 'close',
  status: context.node.optional ? 'COMPLETED_WITH_ERRORS' : status,
  output,
  reason,
});

const closed = (
  context: Context,
  status: 'COMPLETED' | 'COMPLETED_WITH_ERRORS',
  output: JsonObject,
  reason: string | undefined,
): Review => {
  const problem = payloadProblem(output);
  if (problem !== undefined) {
    return failed(context, 'FAILED_WITH_TERMINAL_ERROR', {}, `The joined output is ${problem}.`);
  }
  return { kind: 'close', status, output, ...(reason === undefined ? {} : { reason }) };
};

/** A failure here is one that a permissive task left in a branch; any other failure ended the run before. */
const closeAll = (context: Context, joined: readonly Joined[]): Review => {
  const output = outputs(joined);
  const failure = joined.find((one) => fate(context, one) === 'failed');
  if (failure !== undefined) {
    const reason = `${failure.target?.key ?? failure.ref}: ${failure.entry?.reason ?? 'a task of its branch failed'}`;
    return failed(context, 'FAILED', output, reason);
  }
  const excused = joined.some(({ entry }) => entry?.status === 'COMPLETED_WITH_ERRORS');
  return closed(context, excused ? 'COMPLETED_WITH_ERRORS' : 'COMPLETED', output, undefined);
};

/**
 * A script sees every task it waits for, begun or not, so that it never takes what is missing for what is done; and of one
 * that is not over no more than that, so that it is asked exactly when what it sees has changed.
 */
const bindingsOf = (context: Context, joined: readonly Joined[]): JsonObject => {
  const bindings: Record<string, JsonValue> = { joinOn: joined.map(({ ref }) => ref) };
  for (const one of joined) {
    bindings[one.ref] =
      fate(context, one) === 'live'
        ? { status: 'IN_PROGRESS', output: {} }
        : { status: one.entry?.status ?? 'SKIPPED', output: one.entry?.output ?? {} };
  }
  return bindings;
};

/** Orkes' join script: `$.joinOn`, `$[ref] = {status, output}`; true closes, an object closes with its status. */
const runScript = (context: Context, script: string, done: boolean): Review => {
  const joined = joinedOf(context);
  const result = context.environment.evaluateScript(script, bindingsOf(context, joined));
  if (!result.ok) {
    return failed(context, 'FAILED_WITH_TERMINAL_ERROR', {}, `The join script failed: ${result.error.message}`);
  }
  const answer = isJsonObject(result.value) ? scripted(context, result.value, joined) : undefined;
  if (answer !== undefined) return answer;
  // All it could wait for has ended: waiting on would strand the run.
  return result.value === true || done ? closeAll(context, joined) : { kind: 'wait' };
};

/** What an object with a final status says; undefined for any other. */
const scripted = (context: Context, answer: JsonObject, joined: readonly Joined[]): Review | undefined => {
  const output = isJsonObject(answer.outputData) ? answer.outputData : outputs(joined);
  const reason = typeof answer.reasonForIncompletion === 'string' ? answer.reasonForIncompletion : undefined;
  switch (answer.status) {
    case 'COMPLETED':
    case 'COMPLETED_WITH_ERRORS':
      return closed(context, answer.status, output, reason);
    case 'FAILED':
    case 'FAILED_WITH_TERMINAL_ERROR':
      return failed(context, answer.status, output, reason ?? 'The join script says so.');
    default:
      return undefined;
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
    if (context.node.script !== undefined) return runScript(context, context.node.script, done);
    return done ? closeAll(context, joinedOf(context)) : { kind: 'wait' };
  },
};
