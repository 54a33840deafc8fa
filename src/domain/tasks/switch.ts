import { caseLabel, choose } from './choose.ts';
import { resolvedInput, type TaskSemantics } from './task-semantics.ts';

const choosing = (
  outputOf: (label: string) => Record<string, string | string[]>,
): TaskSemantics<'SWITCH' | 'DECISION'> => ({
  family: 'operator',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const { input } = resolved;
    const chosen = choose(context, context.node.chooser, input);
    if (!chosen.ok) return { kind: 'refuse', input, reason: `The expression failed: ${chosen.error}` };
    const label = caseLabel(chosen.value);
    const chosenCase = context.node.cases.has(label) ? label : null;
    return { kind: 'resolve', input, output: outputOf(label), effect: { chosenCase } };
  },
});

/** Takes the case its expression names; no case and no default: it goes on. */
export const switchTask = choosing((label) => ({ evaluationResult: [label], selectedCase: label }));

/** The older form of SWITCH. */
export const decision = choosing((label) => ({ caseOutput: [label] }));
