import type { PlanNode } from '../definition/plan.ts';
import { isCallType } from '../definition/task-types.ts';
import { registry } from '../tasks/registry.ts';
import type { DecisionEnvironment } from '../tasks/task-semantics.ts';
import type { Need } from './needs.ts';
import { CALLS_QUEUE, SYSTEM_QUEUE, WAITING_QUEUE } from './queues.ts';
import type { ExecutionState } from './state.ts';

const NO_DOMAIN = 'NO_DOMAIN';

/** How long after a poll a domain counts as one that has workers, in milliseconds. */
export const DOMAIN_POLL_WITHIN_MS = 10_000;

const DOMAIN_SIGN = ':';

/** Only such queues are noted when they are polled: nobody asks about others. */
export const hasDomain = (queue: string): boolean => queue.includes(DOMAIN_SIGN);

const queueIn = (domain: string | undefined, taskName: string): string =>
  domain === undefined || domain === NO_DOMAIN ? taskName : `${domain}${DOMAIN_SIGN}${taskName}`;

/** The domains that the start, or else the definition, names for a task, in order. */
const domainsOf = (state: ExecutionState, node: PlanNode, taskName: string): readonly string[] => {
  const mapping = state.started?.taskToDomain ?? {};
  // Own keys only: a task may be called like something that every object has.
  const named = [taskName, '*'].find((name) => Object.hasOwn(mapping, name));
  const domains = named === undefined ? node.definition.domain : mapping[named];
  return (domains ?? '')
    .split(',')
    .map((domain) => domain.trim())
    .filter((domain) => domain !== '');
};

/**
 * The queue an attempt waits in: the task's name, behind its domain where one is set. Of several domains the first that
 * workers polled of late, else the last; the fact tells which, so a replay asks nobody.
 */
export const queueOf = (
  state: ExecutionState,
  node: PlanNode,
  taskName: string,
  { isPolled }: Pick<DecisionEnvironment, 'isPolled'>,
): string | Need => {
  const { family } = registry[node.type];
  if (family === 'system') return isCallType(node.type) ? CALLS_QUEUE : SYSTEM_QUEUE;
  if (family === 'waiting') return WAITING_QUEUE;
  const domains = domainsOf(state, node, taskName);
  const queues = domains.slice(0, -1).map((domain) => queueIn(domain, taskName));
  for (const queue of queues) {
    if (!hasDomain(queue)) return queue;
    const polled = isPolled(queue);
    if (polled === undefined) return { type: 'needsPolls', queues };
    if (polled) return queue;
  }
  return queueIn(domains.at(-1), taskName);
};
