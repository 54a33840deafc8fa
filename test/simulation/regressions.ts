import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './generator.ts';
import type { Plant } from './plants.ts';

/** A world that once broke a promise. Without a plant it must hold now; with one, the mistake must still be found. */
export type Regression = Readonly<{
  why: string;
  invariant: string;
  plant?: Plant;
  config: Config;
}>;

const DIRECTORY = join(import.meta.dirname, 'regressions');

export const readRegressions = (): readonly Readonly<{ name: string; regression: Regression }>[] =>
  readdirSync(DIRECTORY)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => ({ name, regression: JSON.parse(readFileSync(join(DIRECTORY, name), 'utf8')) as Regression }));

export const writeRegression = (regression: Regression): string => {
  mkdirSync(DIRECTORY, { recursive: true });
  const what = regression.invariant.replace(/[^a-z0-9]/gi, '-');
  const path = join(DIRECTORY, `${regression.plant ?? 'found'}-${what}-${regression.config.seed}.json`);
  writeFileSync(path, `${JSON.stringify(regression, null, 2)}\n`);
  return path;
};
