import { describe, expect, it } from 'vitest';
import { expectation, testFile } from '../../../src/testing/test-file.ts';
import { codeIn, fences, readPage, section, tableRows } from './pages.ts';

const PAGE = readPage('docs/testing.md');

describe('the page about testing', () => {
  it('shows a test file that is one', () => {
    const [example = ''] = fences(PAGE, 'json test');
    expect(testFile.safeParse(JSON.parse(example))).toMatchObject({ success: true });
  });

  it('lists everything that can be expected', () => {
    const listed = tableRows(section(PAGE, '## In a file')).flatMap(([first = '']) => codeIn(first));
    expect(listed.filter((name) => name !== 'expect').sort()).toEqual(Object.keys(expectation.shape).sort());
  });
});
