import { median, round } from './measure.ts';

export type Figures = Readonly<Record<string, number | string>>;

/** Of several runs of one scenario: each figure by itself, so the medians need not be of one and the same run. */
export const medianOf = (runs: readonly Figures[]): Figures => {
  const [first = {}] = runs;
  return Object.fromEntries(
    Object.keys(first).map((name) => {
      const values = runs.map((figures) => figures[name]);
      const numbers = values.filter((value) => typeof value === 'number');
      return [name, numbers.length === values.length ? median(numbers) : (values[0] ?? '')];
    }),
  );
};

/** How many times as much; a dash where there is nothing to compare. */
export const ratio = (value: unknown, other: unknown): string =>
  typeof value === 'number' && typeof other === 'number' && other > 0 ? `${round(value / other, 2)} ×` : '–';

/** Rows in columns as wide as their widest cell, numbers to the right. */
export const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string => {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell)));
  const widths = head.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)));
  const isNumber = (row: number, column: number): boolean => typeof rows[row]?.[column] === 'number';
  const line = (row: readonly string[], right: (column: number) => boolean): string =>
    row
      .map((cell, column) => (right(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [
    line(head, (column) => rows.length > 0 && isNumber(0, column)),
    ...cells.map((row, index) => line(row, (column) => isNumber(index, column))),
  ].join('\n');
};
