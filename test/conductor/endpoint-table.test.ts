import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONDUCTOR_ROUTES } from '../../src/adapters/http/conductor/route-table.ts';
import { codeIn, readPage, section, tableRows } from '../unit/docs/pages.ts';

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];
const TEST_FILE = /\]\(\.\.\/(test\/[^)]+)\)/;

const rows = tableRows(section(readPage('docs/conductor.md'), '## Endpoints')).filter(([method = '']) =>
  METHODS.includes(method),
);

/** What every path has besides its parameters: a test that drives it says so somewhere. */
const testOf = ([, , , test = '']: readonly string[]): string => TEST_FILE.exec(test)?.[1] ?? '';

describe('the table of endpoints in docs/conductor.md', () => {
  it('has a row for every route of /api, with its scope, and for nothing else', () => {
    const listed = rows.map(([method, path = '', scope = '']) => `${method} ${codeIn(path)[0]} ${codeIn(scope)[0]}`);
    const served = CONDUCTOR_ROUTES.map(({ method, path, scope }) => `${method} ${path} ${scope}`);
    expect([...listed].sort()).toEqual([...served].sort());
  });

  it('names for each route a test that is there', () => {
    const missing = rows.filter((row) => testOf(row) === '' || !existsSync(testOf(row)));
    expect(missing).toEqual([]);
  });
});
