import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const SKIPPED = ['node_modules', '.git', '.rondo'];

/** A file of the repository by its path from the root. */
export const readPage = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Every page there is, by its path from the root. */
export const pagePaths = (folder = ROOT): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.includes(entry.name) ? [] : pagePaths(path);
    return entry.name.endsWith('.md') ? [relative(ROOT, path).replaceAll('\\', '/')] : [];
  });

/** The part of a page under a heading, up to the next heading of that level or above. */
export const section = (page: string, heading: string): string => {
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const start = page.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`there is no heading ${heading}`);
  const rest = page.slice(start + heading.length + 2);
  const end = rest.search(new RegExp(`^#{1,${level}} `, 'm'));
  return end < 0 ? rest : rest.slice(0, end);
};

/** The cells of every row of every table in a text, headings and rules included. */
export const tableRows = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

/** What stands between backticks. */
export const codeIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** The fenced blocks with this info string. */
export const fences = (page: string, info: string): readonly string[] =>
  page
    .split('\n```')
    .filter((part) => part.startsWith(`${info}\n`))
    .map((part) => part.slice(info.length + 1));
