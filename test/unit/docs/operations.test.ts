import { expect, it } from 'vitest';
import { environmentSchema } from '../../../src/composition/config.ts';
import { codeIn, readPage, section, tableRows } from './pages.ts';

const PAGE = readPage('docs/operations.md');

it('the page names every environment variable of the server, and no other', () => {
  const [table = ''] = section(PAGE, '## Environment variables').split('\nThe command');
  const listed = tableRows(table).flatMap(([name = '']) => codeIn(name));
  expect([...listed].sort()).toEqual(Object.keys(environmentSchema.shape).sort());
});

it('the log messages on the page are logged somewhere', () => {
  const messages = tableRows(section(PAGE, '## Logs')).flatMap(([message = '']) => codeIn(message));
  const sources = ['src/composition/container.ts', 'src/composition/roles.ts', 'src/adapters/http/app.ts'].map(
    readPage,
  );
  expect(messages.length).toBeGreaterThan(3);
  expect(messages.filter((message) => !sources.some((source) => source.includes(`'${message}'`)))).toEqual([]);
});
