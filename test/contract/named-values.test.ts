import { describe, expect, it } from 'vitest';
import { EVERY_NAME } from '../../src/domain/definition/environment-names.ts';
import { ALPHA, BETA } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

const MAX = 3;

describe.each(harnesses)('named values over $name', (harness) => {
  const open = useHarness(harness);
  const put = (name: string, value: string, namespace = ALPHA) =>
    open().values.putValue(namespace, 'ENVIRONMENT', { name, value }, MAX);
  const seal = (name: string, value: string, keyId: string) =>
    open().values.putValue(ALPHA, 'SECRET', { name, value, keyId }, MAX);
  const names = async (after?: string) =>
    (await open().values.listValues(ALPHA, 'ENVIRONMENT', { limit: 2, ...(after === undefined ? {} : { after }) })).map(
      ({ name }) => name,
    );

  it('are set, changed and deleted, each kind and namespace apart', async () => {
    expect([await put('a', '1'), await put('a', '2')]).toEqual(['created', 'replaced']);
    await seal('a', 'sealed', 'k1');
    expect(await open().values.findValues(ALPHA, 'ENVIRONMENT', ['a', 'b'])).toMatchObject([{ name: 'a', value: '2' }]);
    expect(await open().values.findValues(ALPHA, 'SECRET', ['a'])).toMatchObject([{ value: 'sealed', keyId: 'k1' }]);
    expect(await open().values.findValues(BETA, 'ENVIRONMENT', ['a'])).toEqual([]);
    expect(await open().values.deleteValue(BETA, 'ENVIRONMENT', 'a')).toBe(false);
    expect(await open().values.deleteValue(ALPHA, 'ENVIRONMENT', 'a')).toBe(true);
    expect(await open().values.findValues(ALPHA, 'SECRET', ['a'])).toHaveLength(1);
  });

  it('keep the time they were made at, and tell when they were changed', async () => {
    await put('a', '1');
    await open().advance(60_000);
    await put('a', '2');
    const [value] = await open().values.findValues(ALPHA, 'ENVIRONMENT', ['a']);
    expect((value?.updatedAt ?? 0) - (value?.createdAt ?? 0)).toBeGreaterThanOrEqual(0);
  });

  it('are listed by name, a page at a time', async () => {
    for (const name of ['c', 'B', 'a']) await put(name, name);
    expect([await names(), await names('a')]).toEqual([['B', 'a'], ['c']]);
  });

  it('are no more than there may be of a kind, also when many come at once', async () => {
    const outcomes = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => put(name, name)));
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(MAX);
    expect(await put('a', 'again').then((outcome) => outcome !== 'refused' || outcomes[0] === 'refused')).toBe(true);
    expect(await put('a', 'x', BETA)).toBe('created');
  });

  it('are sealed anew only where they are what they were', async () => {
    await seal('a', 'old', 'k1');
    await seal('b', 'new', 'k2');
    expect((await open().values.findSealedOtherwise(ALPHA, 'k2', 10)).map(({ name }) => name)).toEqual(['a']);
    const to = { value: 'again', keyId: 'k2' };
    expect(await open().values.resealValue(ALPHA, 'a', 'another', to)).toBe(false);
    expect(await open().values.resealValue(ALPHA, 'a', 'old', to)).toBe(true);
    expect(await open().values.findSealedOtherwise(ALPHA, 'k2', 10)).toEqual([]);
  });

  it('are what decisions read of the environment, by name or all, and no secret among them', async () => {
    await put('a', '1');
    await put('b', '2');
    await seal('s', 'sealed', 'k1');
    const { engine } = open();
    const expected = new Map([['a', '1']]);
    expect(await engine.findEnvironment(ALPHA, ['a', 'x', 's'])).toEqual(expected);
    expect(await engine.transaction((tx) => tx.findEnvironment(ALPHA, ['a', 's']))).toEqual(expected);
    expect([...(await engine.findEnvironment(ALPHA, [EVERY_NAME])).keys()]).toEqual(['a', 'b']);
    expect((await engine.findEnvironment(BETA, [EVERY_NAME])).size).toBe(0);
  });
});
