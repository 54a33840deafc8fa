import { Chance } from '../support/chance.ts';
import { drawConfig } from './generator.ts';
import type { Plant } from './plants.ts';
import { World, type WorldResult } from './world.ts';

export const STEPS_OF_TROUBLE = 500;

/** One world, made by its seed alone. */
export const runSeed = (seed: number, steps = STEPS_OF_TROUBLE, plant?: Plant): Promise<WorldResult> =>
  new World(drawConfig(seed, steps, new Chance(seed ^ 0x5bd1e995)), plant).run();
