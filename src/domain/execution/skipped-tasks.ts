import type { Plan, PlanNode, Sequence, SwitchNode } from '../definition/plan.ts';
import { eachNode } from './plan-walk.ts';
import { keyOf, stripSuffix } from './task-key.ts';
import type { ExecutionView, TaskView } from './view.ts';

/**
 * The tasks of cases that a switch did not take, SKIPPED by the fact that chose: they have its id and its time, since
 * history has no facts of them. The body of a loop that was skipped is told once, in the iteration of the switch. Switches
 * that data brought in are not in the plan and are left out.
 */
export const skippedTasks = (plan: Plan, view: ExecutionView): readonly TaskView[] =>
  view.tasks.flatMap((task) => {
    const node = task.status === 'COMPLETED' ? nodeOf(plan, task) : undefined;
    if (node?.type !== 'SWITCH' && node?.type !== 'DECISION') return [];
    return untaken(node, task).flatMap((sequence) => skippedIn(sequence, node, task));
  });

const nodeOf = (plan: Plan, task: TaskView): PlanNode | undefined => {
  for (let ref: string | undefined = keyOf(task); ref !== undefined; ref = stripSuffix(ref)?.ref) {
    const node = plan.nodes.get(ref);
    if (node !== undefined) return node;
  }
  return undefined;
};

const untaken = (node: SwitchNode, task: TaskView): readonly Sequence[] => {
  const label = labelOf(task);
  const taken = label !== undefined && node.cases.has(label) ? node.cases.get(label) : node.fallback;
  return [...node.cases.values(), node.fallback].filter((one) => one !== undefined).filter((one) => one !== taken);
};

const labelOf = ({ output }: TaskView): string | undefined => {
  const label = output?.selectedCase ?? (Array.isArray(output?.caseOutput) ? output.caseOutput[0] : undefined);
  return typeof label === 'string' ? label : undefined;
};

const skippedIn = (sequence: Sequence, chooser: SwitchNode, by: TaskView): readonly TaskView[] => {
  const skipped: TaskView[] = [];
  const outerIterations = by.ref.slice(chooser.ref.length);
  eachNode(sequence, (node) => {
    skipped.push({
      taskId: by.taskId,
      ref: `${node.ref}${outerIterations}`,
      iteration: by.iteration,
      attempt: 1,
      type: node.definition.type,
      taskName: node.name,
      status: 'SKIPPED',
      input: {},
      scheduledAt: by.scheduledAt,
      endedAt: by.endedAt ?? by.scheduledAt,
      retried: false,
    });
  });
  return skipped;
};
