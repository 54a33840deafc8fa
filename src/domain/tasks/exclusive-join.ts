import { targetKey } from '../execution/join-state.ts';
import type { TaskEntry } from '../execution/state.ts';
import { type ReviewContext, resolvedInput, type TaskSemantics } from './task-semantics.ts';

type Context = ReviewContext<'EXCLUSIVE_JOIN'>;

const entriesOf = (context: Context, refs: readonly string[]): readonly TaskEntry[] =>
  refs.flatMap((ref) => {
    const key = targetKey(context.state, context.entry, ref);
    const entry = key === undefined ? undefined : context.state.tasks.get(key);
    return entry === undefined ? [] : [entry];
  });

/** The one that completed first; equal instants keep the order they are named in. */
const firstCompleted = (entries: readonly TaskEntry[]): TaskEntry | undefined =>
  entries
    .filter((entry) => entry.ending === 'ok' && entry.phase.kind === 'closed')
    .reduce<TaskEntry | undefined>(
      (first, entry) => (first === undefined || (entry.endedAt ?? 0) < (first.endedAt ?? 0) ? entry : first),
      undefined,
    );

/** The first completed of joinOn; its output is that task's output itself. */
export const exclusiveJoin: TaskSemantics<'EXCLUSIVE_JOIN'> = {
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    return resolved.ok ? { kind: 'open', input: resolved.input } : resolved.step;
  },
  review: (context) => {
    if (context.entry.phase.kind !== 'join') return { kind: 'wait' };
    const first = firstCompleted(entriesOf(context, context.node.joinOn));
    if (first !== undefined) return { kind: 'close', status: 'COMPLETED', output: first.output };
    // Without a fork before it, everything it could wait for lies behind: what has not run never will.
    if (context.node.fork !== undefined && context.entry.phase.pending.size > 0) return { kind: 'wait' };
    const fallback = firstCompleted(entriesOf(context, context.node.fallbacks));
    return { kind: 'close', status: 'COMPLETED', output: fallback?.output ?? {} };
  },
};
