import type { PlanNode } from '../definition/plan.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { loopOf } from './loop-state.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import { keyAt } from './task-key.ts';

type Seen = Readonly<{ output: JsonObject; path: readonly number[] }>;

/**
 * What ran last of a task was taken back: expressions see again what it gave in the iteration before, as far as the loops
 * around it that stay have kept it.
 */
export const seeAgain = (state: ExecutionState, gone: TaskEntry): void => {
  const seen = seenBefore(state, gone.node);
  if (seen === undefined) {
    state.latest.delete(gone.node.ref);
    return;
  }
  const { output, path } = seen;
  const key = keyAt(gone.node.ref, path);
  const phase = { kind: 'closed', ok: true, by: 'outcome' } as const;
  state.latest.set(gone.node.ref, { ...gone, key, path, output, phase, ending: 'ok', before: undefined });
};

/** The innermost loop that has it wins: its iterations are the later ones. */
const seenBefore = (state: ExecutionState, node: PlanNode): Seen | undefined => {
  const path: number[] = [];
  let seen: Seen | undefined;
  for (const [depth, ref] of node.loops.entries()) {
    const loop = state.tasks.get(keyAt(ref, path));
    const phase = loop === undefined ? undefined : loopOf(loop);
    if (phase === undefined) break;
    for (let iteration = phase.iteration - 1; iteration >= 1; iteration -= 1) {
      const kept = phase.kept.get(iteration);
      const found = kept === undefined ? undefined : lastIn(kept, node, depth + 1, [...path, iteration]);
      if (found === undefined) continue;
      seen = found;
      break;
    }
    path.push(phase.iteration);
  }
  return seen;
};

/** The last that the outputs of one iteration tell of a task, in the loops inside of it too. */
const lastIn = (outputs: JsonObject, node: PlanNode, depth: number, path: readonly number[]): Seen | undefined => {
  const loop = node.loops[depth];
  if (loop === undefined) {
    const output = outputs[node.ref];
    return isJsonObject(output) ? { output, path } : undefined;
  }
  const inner = outputs[loop];
  if (!isJsonObject(inner)) return undefined;
  for (let iteration = numberOf(inner.iteration); iteration >= 1; iteration -= 1) {
    const told = inner[String(iteration)];
    const found = isJsonObject(told) ? lastIn(told, node, depth + 1, [...path, iteration]) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
};

const numberOf = (value: JsonValue | undefined): number => (typeof value === 'number' ? value : 0);
