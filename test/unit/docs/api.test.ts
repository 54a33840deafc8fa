import { describe, expect, it } from 'vitest';
import type { ApiErrorCode } from '../../../src/adapters/http/api-error.ts';
import { statusOf } from '../../../src/adapters/http/error-response.ts';
import { ROUTES } from '../../../src/adapters/http/route-table.ts';
import { codeIn, readPage, section, tableRows } from './pages.ts';

const PAGE = readPage('docs/api.md');
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

describe('the routes on the page', () => {
  const listed = tableRows(section(PAGE, '## Routes'))
    .filter(([method = '']) => METHODS.includes(method))
    .map(([method, path = '', scope = '']) => `${method} ${codeIn(path)[0]} ${codeIn(scope)[0]}`);

  it('are the routes of the server, with their scopes', () => {
    const served = ROUTES.map(({ method, path, scope }) => `${method} ${path} ${scope}`);
    expect([...listed].sort()).toEqual([...served].sort());
  });
});

describe('the error codes on the page', () => {
  const listed = tableRows(section(PAGE, '## Errors'))
    .filter(([, status = '']) => /^\d{3}$/.test(status))
    .map(([code = '', status]) => [codeIn(code)[0] as ApiErrorCode, Number(status)] as const);

  it('have the statuses they are answered with', () => {
    expect(listed).toEqual(listed.map(([code]) => [code, statusOf({ code })]));
  });

  it('are all there are', () => {
    const source = readPage('src/adapters/http/error-response.ts');
    const known = [...source.matchAll(/^ {2}([A-Z_]+): \d{3},$/gm)].map(([, code]) => code);
    expect(known.length).toBeGreaterThan(20);
    expect(listed.map(([code]) => code).sort()).toEqual(known.sort());
  });
});
