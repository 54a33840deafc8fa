import { campaign } from './campaign.ts';
import { PLANTS, type Plant } from './plants.ts';

export type Finding = Readonly<{
  plant: Plant;
  /** Steps until it was found, one a trial; infinite: not within the bound. */
  steps: readonly number[];
  /** What gave it away the first time. */
  by: string;
}>;

const SEEDS_APART = 100_000;

/** Takes one mechanism away and looks how soon some world breaks a promise. */
export const findPlant = async (
  plant: Plant,
  options: Readonly<{ trials: number; stepsMax: number; seed?: number }>,
): Promise<Finding> => {
  const steps: number[] = [];
  let by = '';
  for (let trial = 0; trial < options.trials; trial += 1) {
    const seed = (options.seed ?? 1) + trial * SEEDS_APART;
    const { tally, failure } = await campaign({ seed, steps: options.stepsMax, plant });
    steps.push(failure === undefined ? Number.POSITIVE_INFINITY : tally.steps);
    by ||= failure?.violations[0]?.invariant ?? '';
  }
  return { plant, steps, by };
};

export const medianOf = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.POSITIVE_INFINITY;

export const plantNames = Object.keys(PLANTS) as readonly Plant[];

const text = (steps: number): string => (Number.isFinite(steps) ? steps.toLocaleString('en') : 'not found');

/** One line a mechanism, for people and for docs/simulation.md. */
export const tableOf = (findings: readonly Finding[]): string =>
  [
    '| Mechanism taken away | Median steps to find | Most | Found by |',
    '|---|---|---|---|',
    ...findings.map(
      ({ plant, steps, by }) =>
        `| \`${plant}\`: ${PLANTS[plant]} | ${text(medianOf(steps))} | ${text(Math.max(...steps))} | ${by} |`,
    ),
  ].join('\n');
