import { describe, expect, it } from 'vitest';
import { arrowViolations, deadFiles, type SourceTree, unresolvedImports } from './import-rules.ts';
import { existsInRepository, readTree } from './source-tree.ts';
import {
  focusedOrSkippedTests,
  impureDomain,
  strayStatements,
  throwingDomain,
  unfinishedWork,
  unportedApplication,
} from './text-rules.ts';

const src = readTree(['src'], /\.ts$/);
const tests = readTree(['test'], /\.ts$/);
const everything = readTree(['src', 'test', 'scripts', 'bin', 'examples', 'migrations'], /\.(ts|mjs|sql)$/);

/** What is started or imported from outside; the memory stores are the engine's database in simulations and tests. */
const ENTRIES = ['src/main.ts', 'src/worker/index.ts', 'src/testing/index.ts', 'src/adapters/memory/stores.ts'];

const file = (path: string, source: string): SourceTree => new Map([[path, source]]);

describe('the tree', () => {
  it('was read', () => {
    expect(src.size).toBeGreaterThan(50);
    expect([...src.keys()].every((path) => path.startsWith('src/'))).toBe(true);
  });

  it('points its imports inward only', () => expect(arrowViolations(src)).toEqual([]));

  it('imports files by their whole names', () => {
    // The samples of this file import what does not exist.
    const sources = [...src, ...tests].filter(([path]) => path !== 'test/architecture/boundaries.test.ts');
    expect(unresolvedImports(new Map(sources), existsInRepository)).toEqual([]);
  });

  it('has no file that nothing leads to', () => expect(deadFiles(src, ENTRIES)).toEqual([]));

  it('keeps clock, chance, input and waiting out of the domain', () => expect(impureDomain(src)).toEqual([]));

  it('keeps exceptions out of the domain, but for broken invariants', () => expect(throwingDomain(src)).toEqual([]));

  it('gives the use cases time and chance through ports only', () => expect(unportedApplication(src)).toEqual([]));

  it('keeps SQL in the adapters of PostgreSQL', () => expect(strayStatements(src)).toEqual([]));

  it('runs every test', () => expect(focusedOrSkippedTests(tests)).toEqual([]));

  it('leaves nothing for later', () => expect(unfinishedWork(everything)).toEqual([]));
});

describe('the arrows', () => {
  it.each([
    ['src/domain/kernel/a.ts', "import { x } from '../../ports/clock.ts';"],
    ['src/domain/execution/a.ts', "import type { Clock } from '../../ports/clock.ts';"],
    ['src/domain/execution/a.ts', "import { z } from 'zod';"],
    ['src/domain/execution/a.ts', "import { createHash } from 'node:crypto';"],
    ['src/ports/a.ts', "import { x } from '../application/x.ts';"],
    ['src/ports/a.ts', "import { z } from 'zod';"],
    ['src/application/a.ts', "import { x } from '../adapters/postgres/x.ts';"],
    ['src/application/a.ts', "export { x } from '../composition/x.ts';"],
    ['src/application/a.ts', "import { setTimeout } from 'node:timers/promises';"],
    ['src/application/a.ts', "import express from 'express';"],
    ['src/adapters/postgres/a.ts', "import { x } from '../memory/x.ts';"],
    ['src/adapters/http/routes/a.ts', "import type { X } from '../../cli/x.ts';"],
    ['src/adapters/postgres/a.ts', "import { x } from '../../application/x.ts';"],
    ['src/adapters/postgres/a.ts', "const x = await import('../../application/x.ts');"],
    ['src/adapters/http/a.ts', "import { x } from '../../composition/x.ts';"],
    ['src/adapters/http/a.ts', "import { sql } from 'slonik';"],
    ['src/adapters/postgres/a.ts', "import { container } from 'tsyringe';"],
    ['src/adapters/http/a.ts', "import leftPad from 'left-pad';"],
    ['src/adapters/http/a.ts', "import 'left-pad';"],
    ['src/worker/a.ts', "import { x } from '../adapters/http/schemas/x.ts';"],
    ['src/worker/a.ts', "import { type X, y } from '../domain/x.ts';"],
    ['src/client/a.ts', "import { x } from '../application/x.ts';"],
    ['src/domain/a.ts', "import {\n  x,\n  type Y,\n} from '../adapters/memory/x.ts';"],
    ['src/domain/a.ts', "import { x } from '../../test/support/x.ts';"],
  ])('forbid %s: %s', (path, source) => expect(arrowViolations(file(path, source))).toHaveLength(1));

  it.each([
    ['src/domain/definition/a.ts', "import { z } from 'zod';"],
    ['src/ports/a.ts', "import type { Observable } from 'rxjs';"],
    ['src/application/a.ts', "import { x } from '../domain/x.ts';\nimport type { Clock } from '../ports/clock.ts';"],
    ['src/adapters/http/routes/a.ts', "import type { UseCases } from '../../../application/use-cases.ts';"],
    ['src/adapters/postgres/a.ts', "import { x } from './x.ts';\nimport { setTimeout } from 'node:timers/promises';"],
    ['src/worker/a.ts', "import { type X, type Y } from '../adapters/http/schemas/x.ts';"],
    ['src/composition/a.ts', "import { x } from '../adapters/postgres/x.ts';"],
    ['src/domain/a.ts', "// import { x } from '../ports/x.ts';\n/* import 'left-pad'; */"],
  ])('allow %s: %s', (path, source) => expect(arrowViolations(file(path, source))).toEqual([]));
});

describe('the names of imports', () => {
  const exists = (path: string) => path === 'src/domain/b.ts';

  it.each(["import { b } from './b';", "import { b } from './b.js';", "import { b } from './c.ts';", "import './';"])(
    'forbid %s',
    (source) => expect(unresolvedImports(file('src/domain/a.ts', source), exists)).toHaveLength(1),
  );

  it('allow the whole name', () => {
    expect(unresolvedImports(file('src/domain/a.ts', "import { b } from './b.ts';"), exists)).toEqual([]);
  });
});

describe('dead files', () => {
  const tree: SourceTree = new Map([
    ['src/main.ts', "import { a } from './a.ts';\nnew Worker(new URL('./thread.ts', import.meta.url));"],
    ['src/a.ts', "export type { B } from './b.ts';"],
    ['src/b.ts', "const lazy = () => import('./c.ts');"],
    ['src/c.ts', ''],
    ['src/thread.ts', ''],
    ['src/dead.ts', "import './dead-too.ts';"],
    ['src/dead-too.ts', ''],
  ]);

  it('are those that no entry leads to, however they are imported', () => {
    expect(deadFiles(tree, ['src/main.ts'])).toEqual(['src/dead.ts', 'src/dead-too.ts']);
  });
});

describe('the purity of the domain', () => {
  it.each([
    'const now = Date.now();',
    'const now = new Date();',
    'const now = Date();',
    'const now = performance.now();',
    'const dice = Math.random();',
    'const id = crypto.randomUUID();',
    'const home = process.env.HOME;',
    'const g = globalThis;',
    'console.log(1);',
    'const page = fetch(url);',
    'const fs = require("fs");',
    'export const f = async () => 1;',
    'await f();',
    'const later: Promise<number> = f();',
    'setTimeout(f, 1);',
    'queueMicrotask(f);',
    'names.sort((a, b) => a.localeCompare(b));',
    'const text = `$' + '{Math.random()}`;',
  ])('forbids %s', (source) => expect(impureDomain(file('src/domain/a.ts', source))).toHaveLength(1));

  it.each([
    "const message = 'the process awaits Date.now()';",
    '// Date.now() would make a replay differ.',
    'const at = new Date(instant).toISOString();',
    'const processed = 1;',
  ])('allows %s', (source) => expect(impureDomain(file('src/domain/a.ts', source))).toEqual([]));

  it('forbids a throw outside its invariants', () => {
    const source = "throw new Error('no');";
    expect(throwingDomain(file('src/domain/tasks/a.ts', source))).toHaveLength(1);
    expect(throwingDomain(file('src/domain/kernel/invariant.ts', source))).toEqual([]);
  });

  it.each(['Date.now();', 'new Date();', 'Math.random();', 'process.env.HOME;', 'console.log(1);'])(
    'forbids the use cases %s',
    (source) => expect(unportedApplication(file('src/application/a.ts', source))).toHaveLength(1),
  );
});

describe('the place of SQL', () => {
  const statements = [
    'const q = `select 1 from t`;',
    'const q = `\n  insert into t (a) values (1)`;',
    "const q = 'UPDATE t SET a = 1';",
    'const q = "delete from t";',
    'const q = `with a as (select 1) select * from a`;',
    "const q = 'create table t (a int)';",
    "const q = 'begin';",
    "const q = 'listen wake';",
  ];

  it.each(statements)('is not the application: %s', (source) => {
    expect(strayStatements(file('src/application/a.ts', source))).toHaveLength(1);
    expect(strayStatements(file('src/adapters/http/a.ts', source))).toHaveLength(1);
    expect(strayStatements(file('src/adapters/postgres/a.ts', source))).toEqual([]);
  });

  it.each(["const text = 'update the definition';", "const text = 'Delete a run';", '// select 1'])(
    'is not asked of prose: %s',
    (source) => expect(strayStatements(file('src/application/a.ts', source))).toEqual([]),
  );
});

describe('unfinished work', () => {
  const dot = '.';

  it.each(['only', 'skip', 'todo'])('is a test with %s', (word) => {
    expect(focusedOrSkippedTests(file('test/a.test.ts', `it${dot}${word}('x', () => {});`))).toHaveLength(1);
    expect(focusedOrSkippedTests(file('test/a.test.ts', `describe${dot}${word}${dot}each([1])('x');`))).toHaveLength(1);
  });

  it('is not a plain test', () => {
    expect(focusedOrSkippedTests(file('test/a.test.ts', "it.each([1])('only skips', () => {});"))).toEqual([]);
  });

  it.each([
    ['TO', 'DO'],
    ['FIX', 'ME'],
  ])('is a note that says %s%s', (...halves) => {
    expect(unfinishedWork(file('src/a.ts', `// ${halves.join('')}: later`))).toHaveLength(1);
  });
});
