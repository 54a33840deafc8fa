import { compileTemplate } from '../expression/parse-template.ts';
import { type Reference, referencesOf } from '../expression/references.ts';

/** All of them: an expression reads the whole environment, or chooses at run time what it reads of it. */
export const EVERY_NAME = '*';

const nameRead = ({ head, field, name }: Reference): string | undefined => {
  if (head === 'env' || head === 'global') return field ?? EVERY_NAME;
  return head === 'workflow' && field === 'env' ? (name ?? EVERY_NAME) : undefined;
};

const mayRead = (text: string): boolean => text.includes('${') && (text.includes('env') || text.includes('global'));

const collect = (value: unknown, names: Set<string>): void => {
  if (typeof value === 'string') {
    if (!mayRead(value)) return;
    const compiled = compileTemplate(value, '');
    const reads = compiled.ok ? referencesOf(compiled.value).all : [];
    for (const name of reads.map(nameRead)) if (name !== undefined) names.add(name);
  } else if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) collect(part, names);
  }
};

/** The environment values that the texts of a document can read, wherever they stand in it; in order. */
export const environmentNamesIn = (document: unknown): readonly string[] => {
  const names = new Set<string>();
  collect(document, names);
  return names.has(EVERY_NAME) ? [EVERY_NAME] : [...names].sort();
};
