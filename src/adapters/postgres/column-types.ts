import type { DriverTypeParser } from '@slonik/driver';

// Sessions run in UTC, so the offset is always this one.
const UTC_OFFSET = '+00';

const instantOf = (value: string): number => {
  if (!value.endsWith(UTC_OFFSET)) throw new RangeError(`not a UTC timestamp: ${value}`);
  return Date.parse(`${value.slice(0, -UTC_OFFSET.length).replace(' ', 'T')}Z`);
};

const numberOf = (value: string): number => {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError(`not a safe integer: ${value}`);
  return number;
};

const asText = (value: string): string => value;

/** How columns arrive: instants as milliseconds, json as its text, so that it is parsed once and only where it is read. */
export const columnTypes: readonly DriverTypeParser[] = [
  { name: 'timestamptz', parse: instantOf },
  { name: 'int8', parse: numberOf },
  { name: 'json', parse: asText },
  { name: 'jsonb', parse: asText },
];
