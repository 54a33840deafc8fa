import type { PlanNode } from '../definition/plan.ts';
import { registry } from '../tasks/registry.ts';
import { SYSTEM_QUEUE, WAITING_QUEUE } from './queues.ts';
import type { ExecutionState } from './state.ts';

const NO_DOMAIN = 'NO_DOMAIN';

/** The queue an attempt waits in: the task's name, behind its domain where one is set. */
export const queueOf = (state: ExecutionState, node: PlanNode, taskName: string): string => {
  const { family } = registry[node.type];
  if (family === 'system') return SYSTEM_QUEUE;
  if (family === 'waiting') return WAITING_QUEUE;
  const mapping = state.started?.taskToDomain ?? {};
  // Own keys only: a task may be called like something that every object has.
  const named = [taskName, '*'].find((name) => Object.hasOwn(mapping, name));
  const domains = named === undefined ? node.definition.domain : mapping[named];
  const domain = domains?.split(',')[0]?.trim();
  return domain === undefined || domain === '' || domain === NO_DOMAIN ? taskName : `${domain}:${taskName}`;
};
