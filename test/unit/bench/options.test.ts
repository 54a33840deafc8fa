import { describe, expect, it, test } from 'vitest';
import { chosenScenarios, scenarios } from '../../../bench/catalogue.ts';
import { unsafeSetting } from '../../../bench/database.ts';
import { isAskedFor, parseOptions } from '../../../bench/options.ts';

describe('the arguments of the bench', () => {
  it('have defaults', () => {
    const { only, json, list, peers, repeat, steps, inFlight } = parseOptions([]);
    expect({ only, json, list, peers, repeat, steps, inFlight }).toEqual({
      only: undefined,
      json: undefined,
      list: false,
      peers: false,
      repeat: 1,
      steps: [1, 3, 10],
      inFlight: [1, 10, 50, 200],
    });
  });

  it('are read', () => {
    const args = [
      '--only',
      'chain of 3',
      '--runs',
      '20',
      '--repeat',
      '3',
      '--peers',
      '--steps',
      '3',
      '--in-flight',
      '1,50',
    ];
    expect(parseOptions([...args, '--json', 'f.json'])).toEqual({
      only: 'chain of 3',
      runs: 20,
      repeat: 3,
      json: 'f.json',
      list: false,
      peers: true,
      steps: [3],
      inFlight: [1, 50],
    });
  });

  it.each([
    [['--runs', '0'], '--runs takes whole numbers from 1, not 0'],
    [['--repeat', 'often'], '--repeat takes whole numbers from 1, not often'],
    [['--in-flight', '1,2.5'], '--in-flight takes whole numbers from 1, not 2.5'],
    [['--fast'], '--fast'],
  ])('are refused when they cannot be understood: %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message);
  });
});

describe('the scenarios', () => {
  it('have names of their own, whatever their size', () => {
    for (const runs of [1, 20, 3_000]) {
      const names = scenarios(runs).map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  it('are chosen by a part of their name, and the long ones only so', () => {
    expect(chosenScenarios(3_000, 'in-process: chain of 100').map(({ name }) => name)).toEqual([
      'in-process: chain of 100',
    ]);
    expect(chosenScenarios(3_000, undefined).some(({ name }) => name.startsWith('growth'))).toBe(false);
    expect(chosenScenarios(3_000, 'growth').map(({ name }) => name)).toEqual([
      'growth: chain of 3 among 1000000 finished executions',
    ]);
    expect(isAskedFor('dbos', 'Restate')).toBe(false);
  });
});

test.each(['fsync', 'synchronous_commit', 'full_page_writes'])('figures are refused where %s is not on', (name) => {
  const durable = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };
  expect(unsafeSetting(durable)).toBeUndefined();
  expect(unsafeSetting({ ...durable, [name]: 'off' })).toBe(name);
  expect(unsafeSetting({ ...durable, [name]: 'local' })).toBe(name);
});
