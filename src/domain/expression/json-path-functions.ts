import { isJsonObject, type JsonValue } from '../kernel/json.ts';
import type { PathFunction } from './json-path-ast.ts';

/** What a function is applied to: the one value of a definite path, or all matches of an indefinite one. */
export type CallTarget = {
  readonly definite: boolean;
  /** The matches, or the items of the one value when it is a list. */
  readonly items: readonly JsonValue[];
  /** The one value; null for an indefinite path. */
  readonly value: JsonValue;
};

/** A number that JSON cannot hold becomes null rather than Infinity or NaN. */
const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

const lengthOf = ({ definite, items, value }: CallTarget): number | null => {
  if (!definite || Array.isArray(value)) return items.length;
  if (typeof value === 'string') return value.length;
  return isJsonObject(value) ? Object.keys(value).length : null;
};

const sum = (numbers: readonly number[]): number => numbers.reduce((total, value) => total + value, 0);
const mean = (numbers: readonly number[]): number => sum(numbers) / numbers.length;

/** Over an empty list every aggregate is null: there is nothing to be the smallest of. */
const AGGREGATES: Readonly<Record<'min' | 'max' | 'sum' | 'avg' | 'stddev', (numbers: readonly number[]) => number>> = {
  min: (numbers) => numbers.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY),
  max: (numbers) => numbers.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY),
  sum,
  avg: mean,
  stddev: (numbers) => {
    const middle = mean(numbers);
    return Math.sqrt(mean(numbers.map((value) => (value - middle) ** 2)));
  },
};

const aggregate = (name: keyof typeof AGGREGATES, values: readonly JsonValue[]): JsonValue => {
  const numbers = values.filter((value) => typeof value === 'number');
  return numbers.length === 0 ? null : finite(AGGREGATES[name](numbers));
};

const itemAt = (items: readonly JsonValue[], index: JsonValue | undefined): JsonValue =>
  typeof index === 'number' ? (items.at(index) ?? null) : null;

const concatenated = ({ items, value }: CallTarget, operands: readonly JsonValue[]): string =>
  [...(typeof value === 'string' ? [value] : items), ...operands]
    .filter((part) => typeof part === 'string' || typeof part === 'number')
    .join('');

/** Applies one path function. Total: a target of the wrong type gives null. */
export const callFunction = (name: PathFunction, target: CallTarget, operands: readonly JsonValue[]): JsonValue => {
  switch (name) {
    case 'length':
    case 'size':
      return lengthOf(target);
    case 'keys':
      return isJsonObject(target.value) ? Object.keys(target.value) : null;
    case 'min':
    case 'max':
    case 'sum':
    case 'avg':
    case 'stddev':
      return aggregate(name, [...target.items, ...operands]);
    case 'first':
      return itemAt(target.items, 0);
    case 'last':
      return itemAt(target.items, -1);
    case 'index':
      return itemAt(target.items, operands[0]);
    case 'concat':
      return concatenated(target, operands);
    case 'append':
      return [...target.items, ...operands];
  }
};
