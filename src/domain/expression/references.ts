import type { Step } from './json-path-ast.ts';
import { rootedPathsIn } from './json-path-ast.ts';
import type { CompiledTemplate, Expression, Template } from './parse-template.ts';
import { SCOPE_ROOTS } from './scope.ts';

/** One thing an expression reads. A segment is undefined where it is known only at run time, or is no plain name. */
export interface Reference {
  /** A root such as `workflow`, or a task ref. */
  readonly head: string | undefined;
  /** `input`, `output`, `variables`, … */
  readonly field: string | undefined;
  readonly name: string | undefined;
}

export interface References {
  readonly all: readonly Reference[];
  /** The task refs read: first segments that are no root of the scope. */
  readonly tasks: ReadonlySet<string>;
  /** Some expression chooses at run time which task or root it reads, so any could be meant. */
  readonly hasUnknownHead: boolean;
  /** Names read, "*" for all of them or for one chosen at run time. */
  readonly secrets: ReadonlySet<string>;
  readonly env: ReadonlySet<string>;
  readonly variables: ReadonlySet<string>;
}

const EVERY = '*';

/** Everything a compiled value can read. */
export const referencesOf = (compiled: CompiledTemplate): References => summarise(readsOf(compiled));

/** Everything several compiled values can read. */
export const referencesOfAll = (compiled: readonly CompiledTemplate[]): References =>
  summarise(compiled.flatMap(readsOf));

const readsOf = (compiled: CompiledTemplate): readonly Reference[] => {
  switch (compiled.kind) {
    case 'constant':
      return [];
    case 'text':
      return expressionsOf(compiled.template).flatMap(readsOfExpression);
    case 'list':
      return compiled.items.flatMap(readsOf);
    case 'object':
      return compiled.entries.flatMap(([, value]) => readsOf(value));
  }
};

const expressionsOf = (template: Exclude<Template, { kind: 'literal' }>): readonly Expression[] =>
  template.kind === 'single' ? [template.expression] : template.parts.filter((part) => typeof part !== 'string');

const readsOfExpression = (expression: Expression): readonly Reference[] => {
  switch (expression.kind) {
    case 'blank':
      return [];
    case 'path':
      return [expression.path.steps, ...rootedPathsIn(expression.path.steps)].map(readOfSteps);
    case 'dynamic': {
      const [head, field, name] = expression.names;
      const inner = expression.parts.flatMap((part) =>
        typeof part === 'string' ? [] : readsOfExpression(part.expression),
      );
      return [{ head, field, name }, ...inner];
    }
  }
};

const readOfSteps = (steps: readonly Step[]): Reference => {
  const [head, field, name] = steps.slice(0, 3).map((step) => (step.kind === 'name' ? step.name : undefined));
  return { head, field, name: field === undefined ? undefined : name };
};

const summarise = (all: readonly Reference[]): References => {
  const heads = all.map(({ head }) => head);
  return {
    all,
    tasks: new Set(heads.filter((head) => head !== undefined && !SCOPE_ROOTS.has(head)) as readonly string[]),
    hasUnknownHead: heads.includes(undefined),
    secrets: namesUnder(all, 'secrets'),
    env: namesUnder(all, 'env'),
    variables: namesUnder(all, 'variables'),
  };
};

/** Names read as `<store>.name` or `workflow.<store>.name`. */
const namesUnder = (all: readonly Reference[], store: 'secrets' | 'env' | 'variables'): ReadonlySet<string> => {
  const names = new Set<string>();
  for (const { head, field, name } of all) {
    if (head === store && store !== 'variables') names.add(field ?? EVERY);
    if (head !== 'workflow') continue;
    if (field === store) names.add(name ?? EVERY);
    // Secrets are in no scope, so only their own name leads to one.
    if (field === undefined && store !== 'secrets') names.add(EVERY);
  }
  return names;
};
