import { InvalidArgumentError } from 'commander';

/** A whole number from 1. */
export const positiveInteger = (text: string): number => {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('expected a whole number from 1.');
};

/** A whole number from 0. */
export const wholeNumber = (text: string): number => (text === '0' ? 0 : positiveInteger(text));

/** A time in seconds, fractions allowed. */
export const seconds = (text: string): number => {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value <= 2_000_000) return value;
  throw new InvalidArgumentError('expected seconds.');
};
