import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pagePaths, readPage, section, tableRows } from './pages.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** As GitHub makes them of headings. */
const anchorsOf = (page: string): readonly string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Code is no place for links. */
const linksOf = (path: string): readonly string[] =>
  [
    ...readPage(path)
      .replaceAll(/^```[\s\S]+?^```/gm, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map(([, link = '']) => link);

const isBroken = (path: string, link: string): boolean => {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? path : posix.join(dirname(path), file);
  if (!existsSync(join(ROOT, target))) return true;
  return anchor !== undefined && !anchorsOf(readPage(target)).includes(anchor);
};

describe('the pages', () => {
  const pages = pagePaths();

  it('are found', () => expect(pages).toContain('docs/api.md'));

  it.each(pages)('%s has no broken link', (path) => {
    const local = linksOf(path).filter((link) => !/^https?:/.test(link));
    expect(local.filter((link) => isBroken(path, link))).toEqual([]);
  });

  it('have every decision in their list', () => {
    const files = readdirSync(join(ROOT, 'docs', 'decisions')).filter((name) => /^\d{4}-/.test(name));
    expect([...linksOf('docs/decisions/README.md')].sort()).toEqual(files.sort());
  });
});

describe('the promises', () => {
  const promises = tableRows(section(readPage('docs/architecture.md'), '## Twelve promises')).filter(([number = '']) =>
    /^\d+$/.test(number),
  );

  it('are twelve', () =>
    expect(promises.map(([number]) => Number(number))).toEqual([...Array(12).keys()].map((n) => n + 1)));

  it.each(promises)(
    'number %s: the files are there and the tests have these names: %s',
    (_number, _promise, kept = '', broken = '') => {
      const files = [...kept.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
      expect(files.length).toBeGreaterThan(0);
      expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
      const tests = [...broken.matchAll(/`([^`]+)`: ([^;]+)/g)].map(
        ([, file = '', name = '']) => [file, name.trim()] as const,
      );
      expect(tests.length).toBeGreaterThan(0);
      expect(tests.filter(([file, name]) => !existsSync(join(ROOT, file)) || !readPage(file).includes(name))).toEqual(
        [],
      );
    },
  );
});
