import { childPath } from '../kernel/value-path.ts';
import type { Compilation, Draft } from './compilation.ts';
import { caseChooser, KNOWN_EVALUATORS } from './compile-chooser.ts';
import type { PlanNode, Sequence } from './plan.ts';

/** Compiles SWITCH and DECISION. */
export const compileSwitch = (draft: Draft, compilation: Compilation): PlanNode | undefined => {
  const { base, definition, path } = draft;
  const { ref, loops } = base;
  const nested = (label: string, nodes: typeof definition.defaultCase, at: string): Sequence | undefined =>
    compilation.compileNested(nodes ?? [], childPath(at, label), { kind: 'case', node: ref }, loops);
  const cases = new Map(
    Object.entries(definition.decisionCases ?? {}).map(([label, nodes]) => [
      label,
      nested(label, nodes, childPath(path, 'decisionCases')),
    ]),
  );
  const fallback = nested('defaultCase', definition.defaultCase, path);
  const { evaluatorType } = definition;
  if (definition.type === 'SWITCH' && evaluatorType !== undefined && !KNOWN_EVALUATORS.includes(evaluatorType)) {
    return { ...base, type: 'UNSUPPORTED', declaredType: `SWITCH with evaluatorType ${evaluatorType}` };
  }
  const chooser = caseChooser(draft, compilation);
  if (chooser === undefined) return undefined;
  return { ...base, type: definition.type === 'SWITCH' ? 'SWITCH' : 'DECISION', chooser, cases, fallback };
};
