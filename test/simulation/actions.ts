import type { OperatorAction } from '../../src/application/use-cases.ts';
import type { Chance } from '../support/chance.ts';

type ActionType = OperatorAction['type'];

/** Those that reopen a run, which may fail again and start others. */
export const REOPENING_ACTIONS: ReadonlySet<ActionType> = new Set<ActionType>(['rerun', 'rerun-tasks', 'restart']);

const TYPES: readonly ActionType[] = [
  'rerun',
  'rerun-tasks',
  'restart',
  'skip-task',
  'skip-task',
  'cancel-task',
  'cancel-task',
  'variables',
  'jump',
  'upgrade',
];

/** Some action on a run, at a task that it has come to or at one that its definition names. */
export const drawAction = (chance: Chance, known: readonly string[], named: readonly string[]): OperatorAction => {
  const ref = (): string => {
    const refs = known.length > 0 && chance.isBelow(0.7) ? known : named;
    return refs.length === 0 ? 'none' : chance.pick(refs);
  };
  const type = chance.pick(TYPES);
  switch (type) {
    case 'rerun':
      return chance.isBelow(0.2) ? { type } : { type, fromTaskRef: ref() };
    case 'rerun-tasks':
      return { type, taskRefs: chance.isBelow(0.5) ? [ref()] : [ref(), ref()], cascade: chance.isBelow(0.5) };
    case 'restart':
      return { type, useLatestDefinitions: chance.isBelow(0.5) };
    case 'skip-task':
      return { type, taskRef: ref(), taskOutput: { n: 1 } };
    case 'cancel-task':
    case 'jump':
      return { type, taskRef: ref() };
    case 'variables':
      return { type, variables: { seen: true } };
    case 'upgrade':
      return chance.isBelow(0.5) ? { type } : { type, version: chance.pick([1, 2]) };
    default:
      return type satisfies never;
  }
};
