import { keyOf } from '../../src/domain/execution/task-key.ts';
import type { Chance } from './chance.ts';
import type { Run } from './drive.ts';

/** Wire refs of what ran, as an operator finds them in the history of a run. */
const ranIn = (run: Run): readonly string[] => [...new Set(run.view.tasks.map(keyOf))];

/** Actions after which a run still comes to the end that its definition says. */
export const actHarmlessly = (run: Run, chance: Chance): void => {
  const ran = ranIn(run);
  const open = [...run.openTasks.values()].map(keyOf);
  const action = chance.pick(['rerun', 'rerun tasks', 'restart', 'rerun all', 'cancel', 'variables'] as const);
  if (run.status === 'RUNNING' || run.status === 'PAUSED') {
    if (action === 'cancel' && open.length > 0) run.cancelTask(chance.pick(open));
    else if (action === 'variables') run.request({ type: 'SetVariables', variables: { seen: 1 }, by: 'operator' });
    else if (run.status === 'PAUSED' && ran.length > 0) rerunTasks(run, chance, true);
    return;
  }
  if (action === 'restart') run.restart();
  else if (action === 'rerun all') run.rerun();
  else if (action === 'rerun tasks') rerunTasks(run, chance, true);
  // An iteration that the loop no longer keeps is refused.
  else run.request({ type: 'Rerun', by: 'operator', from: chance.pick(ran) });
};

const rerunTasks = (run: Run, chance: Chance, cascade: boolean): void => {
  const ran = ranIn(run);
  const tasks = [chance.pick(ran), chance.pick(ran)];
  run.request({ type: 'RerunTasks', by: 'operator', tasks, cascade });
};

/** Any action at any task that the program names or that ran, whether it makes sense or not. */
export const actWildly = (run: Run, refs: readonly string[], chance: Chance): void => {
  const ran = ranIn(run);
  const ref = chance.pick(chance.isBelow(0.5) || ran.length === 0 ? refs : ran);
  switch (chance.pick(['skip', 'jump', 'rerun tasks', 'harmless', 'jump', 'input'] as const)) {
    case 'skip':
      return void run.request({ type: 'SkipTask', by: 'operator', ref, output: { skipped: true } });
    case 'jump':
      return void run.request({ type: 'Jump', by: 'operator', to: ref });
    case 'rerun tasks':
      return rerunTasks(run, chance, chance.isBelow(0.3));
    case 'input':
      return void run.request({ type: 'Rerun', by: 'operator', from: ref, taskInput: { n: 5 } });
    case 'harmless':
      return actHarmlessly(run, chance);
    default:
  }
};
