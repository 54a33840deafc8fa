import type { PlanNode } from '../definition/plan.ts';
import type { TaskPolicy } from '../definition/task-definition.ts';
import { invariant } from '../kernel/invariant.ts';
import type { TaskScheduled } from './events.ts';

/** The settings of an attempt: those the fact carries for names known at run time only, else the plan's. */
export const policyFor = (node: PlanNode, scheduled: TaskScheduled): TaskPolicy => {
  if (scheduled.policy !== undefined) return scheduled.policy;
  invariant('policy' in node, `no policy for ${node.ref}`);
  return node.policy;
};
