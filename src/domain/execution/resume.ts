import type { Command } from './commands.ts';
import { openings } from './commands-for.ts';
import { executionTimer } from './deadlines.ts';
import { type ExecutionState, isOpen } from './state.ts';

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
