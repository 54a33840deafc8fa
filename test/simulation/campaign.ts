import { Chance } from '../support/chance.ts';
import type { Coverage } from './checkers/run-watch.ts';
import { FAULTS, type Fault } from './faults.ts';
import { type Config, drawConfig } from './generator.ts';
import type { Plant } from './plants.ts';
import { World, type WorldResult } from './world.ts';

/** Steps of trouble in one world: most mistakes need few, some a long history. */
const TROUBLE_STEPS = [150, 300, 500, 500, 1_000] as const;

/** Seeds of configurations and of what happens in them must not be the same sequence. */
const CONFIG_SALT = 0x5bd1e995;

export const configOf = (seed: number): Config => {
  const chance = new Chance(seed ^ CONFIG_SALT);
  return drawConfig(seed, chance.pick(TROUBLE_STEPS), chance);
};

export const runWorld = (config: Config, plant?: Plant): Promise<WorldResult> => new World(config, plant).run();

/** What all worlds of a campaign together have come by. */
export type Tally = {
  worlds: number;
  steps: number;
  readonly coverage: Coverage;
  readonly fired: Record<Fault, number>;
  readonly sometimes: Set<string>;
};

export const newTally = (): Tally => ({
  worlds: 0,
  steps: 0,
  coverage: new Map(),
  fired: Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>,
  sometimes: new Set(),
});

const add = (tally: Tally, result: WorldResult): void => {
  tally.worlds += 1;
  tally.steps += result.steps;
  for (const [pair, count] of result.coverage) tally.coverage.set(pair, (tally.coverage.get(pair) ?? 0) + count);
  for (const fault of FAULTS) tally.fired[fault] += result.fired[fault];
  for (const point of result.sometimes) tally.sometimes.add(point);
};

export type CampaignOptions = Readonly<{
  seed: number;
  /** Worlds are made until so many steps are taken. */
  steps: number;
  plant?: Plant;
  onWorld?: (result: WorldResult, tally: Tally) => void;
  /** Told before a world begins: if it takes the process with it, this was it. */
  onBegin?: (config: Config) => void;
}>;

const realImmediate = globalThis.setImmediate;
const breath = (): Promise<void> => new Promise((resolve) => realImmediate(() => resolve()));

/** World after world, each with the next seed. Stops at the first that breaks a promise, and returns it. */
export const campaign = async (
  options: CampaignOptions,
): Promise<Readonly<{ tally: Tally; failure: WorldResult | undefined }>> => {
  const tally = newTally();
  for (let seed = options.seed; tally.steps < options.steps; seed += 1) {
    const config = configOf(seed);
    options.onBegin?.(config);
    const result = await runWorld(config, options.plant);
    add(tally, result);
    options.onWorld?.(result, tally);
    if (result.violations.length > 0) return { tally, failure: result };
    await breath();
  }
  return { tally, failure: undefined };
};
