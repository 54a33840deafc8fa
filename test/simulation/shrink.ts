import { runWorld } from './campaign.ts';
import { FAULTS } from './faults.ts';
import type { Config } from './generator.ts';
import type { Plant } from './plants.ts';
import type { WorldResult } from './world.ts';

/** Other seeds are tried for a smaller world, since what is left out changes all that is drawn after it. */
const SEEDS_PER_CANDIDATE = 60;
const WORLDS_MAX = 5_000;

const smallerThan = (config: Config, brokenAt: number): readonly Partial<Config>[] => {
  const calmer = FAULTS.filter((fault) => config.faults[fault] > 0).map((fault) => ({
    faults: { ...config.faults, [fault]: 0 },
  }));
  const fewer = (['runs', 'servers', 'workers', 'programs'] as const).flatMap((key) =>
    config[key] > 1 ? [{ [key]: config[key] - 1 }] : [],
  );
  return [
    ...(brokenAt < config.steps ? [{ steps: brokenAt }] : []),
    ...(config.steps > 20 ? [{ steps: Math.floor(config.steps / 2) }] : []),
    ...calmer,
    ...fewer,
    ...(config.size > 3 ? [{ size: Math.ceil(config.size / 2) }] : []),
    ...(config.isWild ? [{ isWild: false }] : []),
    ...(config.rowPointShare > 0 ? [{ rowPointShare: 0 }] : []),
    ...(config.limit > 0 ? [{ limit: 0 }] : []),
    ...(config.hasDoors ? [{ hasDoors: false }] : []),
    ...((config.admission ?? 'none') !== 'none' ? [{ admission: 'none' as const }] : []),
    ...(config.permits > 0 ? [{ permits: 0 }] : []),
    ...(config.rate > 0 ? [{ rate: 0 }] : []),
    ...(config.tasksMax > 0 ? [{ tasksMax: 0 }] : []),
    ...(config.quota > 0 ? [{ quota: 0 }] : []),
    ...(config.hasActions ? [{ hasActions: false }] : []),
    ...(config.hasChildren ? [{ hasChildren: false }] : []),
    ...(config.hasFailureWorkflow ? [{ hasFailureWorkflow: false }] : []),
  ];
};

/** A smaller world that breaks the same promise: fewer faults, runs and servers, and a shorter schedule. */
export const shrink = async (failure: WorldResult, plant?: Plant): Promise<WorldResult> => {
  const broken = failure.violations[0]?.invariant;
  let smallest = failure;
  let worlds = 0;
  const stillBreaks = async (config: Config): Promise<WorldResult | undefined> => {
    for (let offset = 0; offset < SEEDS_PER_CANDIDATE && worlds < WORLDS_MAX; offset += 1) {
      worlds += 1;
      const result = await runWorld({ ...config, seed: failure.config.seed + offset }, plant);
      if (result.violations[0]?.invariant === broken) return result;
    }
    return undefined;
  };
  for (let isSmaller = true; isSmaller && worlds < WORLDS_MAX; ) {
    isSmaller = false;
    const brokenAt = smallest.violations[0]?.step ?? smallest.steps;
    for (const change of smallerThan(smallest.config, brokenAt)) {
      const result = await stillBreaks({ ...smallest.config, ...change });
      if (result === undefined) continue;
      smallest = result;
      isSmaller = true;
      break;
    }
  }
  return smallest;
};
