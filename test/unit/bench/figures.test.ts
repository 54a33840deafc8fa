import { describe, expect, it } from 'vitest';
import { medianOf, ratio, table } from '../../../bench/figures.ts';
import { quantile } from '../../../bench/measure.ts';
import { comparison } from '../../../bench/peers/compare.ts';

describe('figures', () => {
  it('have quantiles of the nearest rank, whatever the order of the samples', () => {
    const samples = [5, 1, 4, 2, 3, 10, 9, 8, 7, 6];
    expect([0, 0.5, 0.9, 0.99, 1].map((q) => quantile(samples, q))).toEqual([1, 6, 10, 10, 10]);
    expect(samples[0]).toBe(5);
    expect(quantile([], 0.5)).toBeNaN();
  });

  it('of several runs are the medians, each by itself', () => {
    const runs = [
      { rate: 10, cost: 1, note: 'a' },
      { rate: 30, cost: 3, note: 'b' },
      { rate: 20, cost: 2, note: 'c' },
    ];
    expect(medianOf(runs)).toEqual({ rate: 20, cost: 2, note: 'a' });
    expect(medianOf([])).toEqual({});
  });

  it('are compared by how many times as much they are', () => {
    expect(ratio(300, 100)).toBe('3 ×');
    expect(ratio(1, 3)).toBe('0.33 ×');
    expect([ratio(undefined, 1), ratio(1, '–'), ratio(1, 0)]).toEqual(['–', '–', '–']);
  });

  it('stand in columns, numbers to the right', () => {
    expect(
      table(
        ['name', 'n'],
        [
          ['one', 1],
          ['thousands', 12_345],
        ],
      ),
    ).toBe(['name            n', 'one             1', 'thousands  12,345'].join('\n'));
  });
});

describe('the comparison with peers', () => {
  const figures = (steps: number, rate: number) => ({ steps, 'in flight': 50, 'workflows/s': rate });
  const lines = comparison([
    { name: 'rondo in-process', figures: [figures(1, 900), figures(3, 400)] },
    { name: 'rondo /v1, worker library', figures: [figures(1, 450), figures(3, 200)] },
    { name: 'other', figures: [figures(1, 300), figures(3, 100)] },
    { name: 'absent', figures: [], failed: 'it did not start' },
  ]).split('\n');

  it('puts the same work side by side, and says how many times as fast Rondo is', () => {
    const cells = lines.map((line) => line.split(/ {2,}/).filter((cell) => cell !== ''));
    expect(cells.slice(1).map(([steps, , name]) => `${steps} ${name}`)).toEqual([
      '1 rondo in-process',
      '1 rondo /v1, worker library',
      '1 other',
      '3 rondo in-process',
      '3 rondo /v1, worker library',
      '3 other',
    ]);
    expect(cells[3]?.slice(-2)).toEqual(['3 ×', '1.5 ×']);
    expect(cells[6]?.slice(-2)).toEqual(['4 ×', '2 ×']);
  });
});
