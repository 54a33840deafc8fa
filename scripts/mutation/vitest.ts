/**
 * Stands for the module `vitest` in the mutation run: files declare their tests into a list, and nothing runs yet. As
 * much of it as the tests of the domain use.
 */
import { format } from 'node:util';
import { inject } from 'vitest';
import { currentFile, type Hook } from './registry.ts';

export { expect } from 'vitest';
export { inject };

type Body = (...args: unknown[]) => unknown;
type Declare = (name: string, body: Body) => void;

const groups: string[] = [];

const declare: Declare = (name, body) => {
  const file = currentFile();
  const full = [...groups, name].join(' > ');
  const id = `${file.path}#${file.tests.length} ${full}`;
  file.tests.push({ id, name: full, file: file.path, run: () => body() });
};

const group: Declare = (name, body) => {
  groups.push(name);
  body();
  groups.pop();
};

const each =
  (one: Declare) =>
  (cases: readonly unknown[]) =>
  (name: string, body: Body): void => {
    for (const given of cases) {
      const args = Array.isArray(given) ? given : [given];
      one(format(name, ...args).slice(0, 200), () => body(...args));
    }
  };

const forEach =
  (one: Declare) =>
  (cases: readonly unknown[]) =>
  (name: string, body: Body): void => {
    for (const given of cases) one(format(name, given).slice(0, 200), () => body(given));
  };

export const it = Object.assign(declare, { each: each(declare), for: forEach(declare) });
export const test = it;
export const describe = Object.assign(group, { each: each(group), for: forEach(group) });

export const beforeAll = (hook: Hook): void => {
  currentFile().before.push(hook);
};

export const afterAll = (hook: Hook): void => {
  currentFile().after.unshift(hook);
};
