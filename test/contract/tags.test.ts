import { describe, expect, it } from 'vitest';
import type { Tag, Tagged } from '../../src/ports/tag-store.ts';
import { ALPHA, BETA } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

const TAGS_MAX = 4;
const ORDER: Tagged = { kind: 'WORKFLOW', name: 'order' };
const tag = (key: string, value: string): Tag => ({ key, value });
const PROD = tag('env', 'prod');
const TEAM = tag('team', 'billing');

describe.each(harnesses)('tags over $name', (harness) => {
  const open = useHarness(harness);
  const add = (thing: Tagged, ...tags: readonly Tag[]) => open().tags.addTags(ALPHA, thing, tags, TAGS_MAX);
  const of = async ({ kind, name }: Tagged) => (await open().tags.tagsOf(ALPHA, kind, [name])).get(name) ?? [];

  it('are added once each, and read by key and value', async () => {
    expect(await add(ORDER, TEAM, PROD)).toBe(true);
    expect(await add(ORDER, PROD, tag('env', 'dev'), PROD)).toBe(true);
    expect(await of(ORDER)).toEqual([tag('env', 'dev'), PROD, TEAM]);
  });

  it('belong to a kind and a name of one namespace', async () => {
    await add(ORDER, PROD);
    await add({ kind: 'TASK', name: 'order' }, TEAM);
    expect(await of({ kind: 'TASK', name: 'order' })).toEqual([TEAM]);
    expect(await of({ kind: 'WORKFLOW', name: 'Order' })).toEqual([]);
    expect(await open().tags.tagsOf(BETA, 'WORKFLOW', ['order'])).toEqual(new Map());
    expect(await open().tags.listTags(BETA, 10)).toEqual([]);
  });

  it('are read for many names at once', async () => {
    await add(ORDER, PROD);
    await add({ kind: 'WORKFLOW', name: 'refund' }, TEAM);
    const found = await open().tags.tagsOf(ALPHA, 'WORKFLOW', ['refund', 'absent', 'order']);
    expect([...found].sort(([a], [b]) => (a < b ? -1 : 1))).toEqual([
      ['order', [PROD]],
      ['refund', [TEAM]],
    ]);
    expect(await open().tags.tagsOf(ALPHA, 'WORKFLOW', [])).toEqual(new Map());
  });

  it('are replaced as a whole', async () => {
    await add(ORDER, PROD, TEAM);
    await open().tags.replaceTags(ALPHA, ORDER, [tag('env', 'dev')]);
    expect(await of(ORDER)).toEqual([tag('env', 'dev')]);
    await open().tags.replaceTags(ALPHA, ORDER, []);
    expect(await of(ORDER)).toEqual([]);
  });

  it('are removed by key and value', async () => {
    await add(ORDER, PROD, TEAM);
    expect(await open().tags.removeTags(ALPHA, ORDER, [tag('env', 'dev'), TEAM, TEAM])).toBe(1);
    expect(await of(ORDER)).toEqual([PROD]);
  });

  it('go when the thing goes, and those of others stay', async () => {
    await add(ORDER, PROD, TEAM);
    await add({ kind: 'TASK', name: 'order' }, PROD);
    await open().tags.clearTags(ALPHA, ORDER);
    expect(await open().tags.listTags(ALPHA, 10)).toEqual([{ kind: 'TASK', name: 'order', tag: PROD }]);
  });

  it('are no more than the limit: of one too many none is added', async () => {
    const many = ['a', 'b', 'c'].map((key) => tag(key, 'x'));
    await add(ORDER, ...many);
    expect(await add(ORDER, ...many, tag('d', 'x'))).toBe(true);
    expect(await add(ORDER, tag('a', 'x'), tag('e', 'x'))).toBe(false);
    expect(await of(ORDER)).toHaveLength(TAGS_MAX);
  });

  it('are no more than the limit when many are added at once', async () => {
    const added = await Promise.all(Array.from({ length: 8 }, (_, n) => add(ORDER, tag(`k${n}`, 'x'))));
    expect(added.filter((isAdded) => isAdded)).toHaveLength(TAGS_MAX);
    expect(await of(ORDER)).toHaveLength(TAGS_MAX);
  });

  it('lead to the names that have one', async () => {
    for (const name of ['c', 'a', 'b']) await add({ kind: 'SCHEDULE', name }, PROD);
    await add({ kind: 'SCHEDULE', name: 'd' }, TEAM);
    expect(await open().tags.namesWith(ALPHA, 'SCHEDULE', PROD, 2)).toEqual(['a', 'b']);
    expect(await open().tags.namesWith(ALPHA, 'SECRET', PROD, 10)).toEqual([]);
  });

  it('keep whatever text they are', async () => {
    const odd = tag(`k"]'\\ü`, `v\n,["x"]`);
    await add(ORDER, odd);
    expect(await of(ORDER)).toEqual([odd]);
    expect(await open().tags.namesWith(ALPHA, 'WORKFLOW', odd, 1)).toEqual(['order']);
  });
});
