import { targetOf } from '../execution/join-state.ts';
import type { TaskEntry } from '../execution/state.ts';
import { type ReviewContext, resolvedInput, type TaskSemantics } from './task-semantics.ts';

type Context = ReviewContext<'EXCLUSIVE_JOIN'>;

const completedOf = (context: Context, refs: readonly string[]): readonly TaskEntry[] =>
  refs.flatMap((ref) => {
    const target = targetOf(context.state, context.entry, ref);
    const entry = target === undefined ? undefined : context.state.tasks.get(target.key);
    return entry?.ending === 'ok' && entry.status === 'COMPLETED' ? [entry] : [];
  });

const firstCompleted = (context: Context, refs: readonly string[]): TaskEntry | undefined =>
  completedOf(context, refs).reduce<TaskEntry | undefined>(
    (first, entry) => (first !== undefined && settledAt(first) <= settledAt(entry) ? first : entry),
    undefined,
  );

const settledAt = (entry: TaskEntry): number => entry.settledSeq ?? entry.seq;

/**
 * The first completed of joinOn; its output is that task's output itself. When all of them are over and none completed, the
 * default tasks are looked at the same way.
 */
export const exclusiveJoin: TaskSemantics<'EXCLUSIVE_JOIN'> = {
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    return resolved.ok ? { kind: 'open', input: resolved.input } : resolved.step;
  },
  review: (context) => {
    const { phase } = context.entry;
    if (phase.kind !== 'join') return { kind: 'wait' };
    const first = firstCompleted(context, context.node.joinOn);
    if (first === undefined && phase.pending.size > 0) return { kind: 'wait' };
    const chosen = first ?? firstCompleted(context, context.node.fallbacks);
    return { kind: 'close', status: 'COMPLETED', output: chosen?.output ?? {} };
  },
};
