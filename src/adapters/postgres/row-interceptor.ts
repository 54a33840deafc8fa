import type { Interceptor } from 'slonik';
import { DatabaseDefectError } from './database-error.ts';

const camelNames = new Map<string, string>();

const camelCased = (column: string): string => {
  const known = camelNames.get(column);
  if (known !== undefined) return known;
  const name = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  camelNames.set(column, name);
  return name;
};

/** Rows leave with names as the program writes them, without NULL columns, checked and typed by the statement's schema. */
export const rowInterceptor: Interceptor = {
  name: 'rows',
  transformRow: ({ resultParser, originalQuery }, _query, row) => {
    const named: Record<string, unknown> = {};
    for (const column in row) if (row[column] !== null) named[camelCased(column)] = row[column];
    const parsed = resultParser?.['~standard'].validate(named) ?? { value: named };
    if (parsed instanceof Promise || parsed.issues !== undefined) {
      const issues = parsed instanceof Promise ? 'asynchronous schema' : JSON.stringify(parsed.issues);
      throw new DatabaseDefectError(
        `statement ${originalQuery.name ?? '(composed)'} returned other rows: ${issues}`,
        {},
      );
    }
    return parsed.value as typeof row;
  },
};
