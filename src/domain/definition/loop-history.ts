import { referencesOfCondition } from '../expression/condition.ts';
import { parseCondition } from '../expression/condition-parser.ts';
import type { JsonPath } from '../expression/json-path-ast.ts';
import { type References, referencesOf } from '../expression/references.ts';
import type { Chooser } from './plan.ts';

/** Each `$` of a script with the name it is asked for: `$.name` or `$['name']`; without one, all of `$` may be read. */
const BINDING = /\$(?:\s*\.\s*([A-Za-z_$][\w$]*)|\s*\[\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\])?/g;
const ITERATION = /^\s*(?:\.\s*iteration(?![\w$])|\[\s*(?:'iteration'|"iteration")\s*\])/;

const scriptReadsOnlyIteration = (source: string, ref: string): boolean => {
  for (const match of source.matchAll(BINDING)) {
    const name = match[1] ?? match[2] ?? match[3];
    if (name === undefined) return false;
    if (name === ref && !ITERATION.test(source.slice(match.index + match[0].length))) return false;
  }
  return true;
};

const onlyIteration = (references: References, ref: string): boolean =>
  !references.hasUnknownHead &&
  references.all.every(
    ({ head, field, name }) => head !== ref || field === 'iteration' || (field === 'output' && name === 'iteration'),
  );

/** The bindings hold the loop under its ref; a path that begins elsewhere cannot reach it. */
const onlyBindsIteration = ({ steps }: JsonPath, ref: string): boolean => {
  const [first, second] = steps;
  if (first?.kind !== 'name') return false;
  return first.name !== ref || (second?.kind === 'name' && second.name === 'iteration');
};

/**
 * Whether a condition looks at nothing of its own loop but the number of the iteration, so that outputs of earlier
 * iterations need not be kept for it. Errs on the side of keeping them.
 */
export const readsOnlyIteration = (condition: Chooser, ref: string): boolean => {
  switch (condition.kind) {
    case 'input':
      return true;
    case 'template':
      return onlyIteration(referencesOf(condition.template), ref);
    case 'path':
      return onlyBindsIteration(condition.path, ref);
    case 'script':
      return scriptReadsOnlyIteration(condition.source, ref);
    case 'condition': {
      const parsed = parseCondition(condition.source);
      return parsed.ok && onlyIteration(referencesOfCondition(parsed.value), ref);
    }
  }
};
