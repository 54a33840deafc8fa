import type { Chooser, PlanNode } from '../definition/plan.ts';
import { type CompiledTemplate, compileTemplate } from '../expression/parse-template.ts';
import { referencesOfAll } from '../expression/references.ts';
import type { ExecutionState } from './state.ts';

/** What a node reads of the run when it is entered or looked at. */
export type Reads = Readonly<{ tasks: ReadonlySet<string>; variables: boolean; anything: boolean }>;

const templatesOf = (node: PlanNode): readonly CompiledTemplate[] => {
  switch (node.type) {
    case 'SIMPLE':
    case 'HTTP':
    case 'HTTP_POLL':
    case 'JDBC':
      return node.inputTemplate === undefined ? [node.input] : [node.input, node.inputTemplate];
    case 'SWITCH':
    case 'DECISION':
      return [node.input, ...templatesOfChooser(node.chooser)];
    case 'DO_WHILE':
      return [
        node.input,
        ...(node.items === undefined ? [] : [node.items]),
        ...(node.condition === undefined ? [] : templatesOfChooser(node.condition)),
      ];
    default:
      return [node.input];
  }
};

/** A script or a path sees the inputs alone; the other forms read the run themselves. */
const templatesOfChooser = (chooser: Chooser): readonly CompiledTemplate[] => {
  if (chooser.kind === 'template') return [chooser.template];
  if (chooser.kind !== 'condition') return [];
  const compiled = compileTemplate(chooser.source, '');
  return compiled.ok ? [compiled.value] : [];
};

const joinedRefs = (node: PlanNode): readonly string[] => {
  if (node.type === 'JOIN') return node.joinOn;
  return node.type === 'EXCLUSIVE_JOIN' ? [...node.joinOn, ...node.fallbacks] : [];
};

export const readsOf = (node: PlanNode): Reads => {
  const { tasks, variables, hasUnknownHead } = referencesOfAll(templatesOf(node));
  return {
    tasks: new Set([...tasks, ...joinedRefs(node)]),
    variables: variables.size > 0,
    anything: hasUnknownHead,
  };
};

/** Nodes by what they read, over the whole plan and what data brought in. */
export type Readers = Readonly<{
  ofTask: ReadonlyMap<string, ReadonlySet<string>>;
  ofVariables: ReadonlySet<string>;
  ofAnything: ReadonlySet<string>;
}>;

export const readersIn = (state: ExecutionState): Readers => {
  const ofTask = new Map<string, Set<string>>();
  const ofVariables = new Set<string>();
  const ofAnything = new Set<string>();
  for (const node of [...state.plan.nodes.values(), ...state.dynamicNodes.values()]) {
    const reads = readsOf(node);
    for (const ref of reads.tasks) ofTask.set(ref, (ofTask.get(ref) ?? new Set()).add(node.ref));
    if (reads.variables) ofVariables.add(node.ref);
    if (reads.anything) ofAnything.add(node.ref);
  }
  return { ofTask, ofVariables, ofAnything };
};
