import type { Command } from './commands.ts';
import { openings } from './commands-for.ts';
import { executionTimer } from './deadlines.ts';
import { type ExecutionState, isOpen, lookAgainAt, ROOT_KEY } from './state.ts';

/**
 * The full derivation: every effect an open run still owes, from its state alone. For the sweeper and for repair; the
 * pass itself only follows new facts (test/property/kernel.test.ts says that the two agree).
 */
export const resume = (state: ExecutionState): readonly Command[] => {
  if (!isOpen(state)) return [];
  const commands: Command[] = [...executionTimer(state)];
  for (const entry of state.tasks.values()) {
    if (entry.phase.kind === 'attempt') commands.push(...openings(state, entry));
  }
  return commands;
};

/** Makes the next decision look at everything, as if each fact had just happened. */
export const lookAtAll = (state: ExecutionState): void => {
  lookAgainAt(state, ROOT_KEY);
  for (const key of state.tasks.keys()) lookAgainAt(state, key);
};
