import type { LoopNode, Sequence } from '../definition/plan.ts';
import { loopOf } from './loop-state.ts';
import { sequencesOf } from './plan-walk.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import { keyAt } from './task-key.ts';

/** The entries right below an entry, in the iteration that is there. */
export const entriesBelow = (state: ExecutionState, entry: TaskEntry): readonly TaskEntry[] => {
  const path = pathBelow(entry);
  return sequencesBelow(entry)
    .flatMap((sequence) => sequence.nodes.map((node) => state.tasks.get(keyAt(node.ref, path))))
    .filter((below) => below !== undefined);
};

const sequencesBelow = (entry: TaskEntry): readonly Sequence[] => {
  if (entry.node.type === 'DO_WHILE') return [(entry.node as LoopNode).body];
  return entry.phase.kind === 'fork' ? entry.phase.branches : sequencesOf(entry.node);
};

const pathBelow = (entry: TaskEntry): readonly number[] =>
  entry.node.type === 'DO_WHILE' ? [...entry.path, loopOf(entry)?.iteration ?? 0] : entry.path;
