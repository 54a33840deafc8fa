/**
 * `npm run simulate -- --seed 1 --steps 100000000`: world after world until so many steps are taken or one breaks a promise.
 *
 *   --seed S      the first seed (one drawn by the clock if absent, and printed)
 *   --steps N     steps in all (1,000,000)
 *   --world FILE  one world, from the configuration in a file such as those of test/simulation/regressions
 *   --plant NAME  with one mechanism taken away
 *   --plants N    the table of all planted mistakes, N trials each, at most --steps a trial
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { campaign, runWorld, type Tally } from './campaign.ts';
import { FAULTS } from './faults.ts';
import { findPlant, plantNames, tableOf } from './find-plants.ts';
import type { Plant } from './plants.ts';
import { type Regression, writeRegression } from './regressions.ts';
import { shrink } from './shrink.ts';
import type { WorldResult } from './world.ts';

const PROGRESS_STEPS = 1_000_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(performance.timeOrigin) % 1_000_000_000) },
    steps: { type: 'string', default: '1000000' },
    world: { type: 'string' },
    plant: { type: 'string' },
    plants: { type: 'string' },
  },
});

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const plantOf = (name: string | undefined): Plant | undefined => {
  if (name === undefined) return undefined;
  const plant = plantNames.find((known) => known === name);
  if (plant === undefined) throw new Error(`no such plant: ${name}; there are ${plantNames.join(', ')}`);
  return plant;
};

const sayFailure = ({ config, violations, steps }: WorldResult): void => {
  say(`seed ${config.seed} broke a promise after ${steps} steps:`);
  for (const { invariant, step, text } of violations.slice(0, 5))
    say(`  invariant ${invariant} at step ${step}: ${text}`);
  say(`  ${JSON.stringify(config)}`);
};

const sayTally = (tally: Tally, seconds: number): void => {
  const rate = Math.round(tally.steps / seconds);
  say(`${tally.worlds} worlds, ${tally.steps} steps in ${seconds.toFixed(1)} s (${rate} steps/s)`);
  say(`faults: ${FAULTS.map((fault) => `${fault} ${tally.fired[fault]}`).join(', ')}`);
  const pairs = [...tally.coverage].sort(([a], [b]) => (a < b ? -1 : 1));
  say(`events in states: ${pairs.map(([pair, count]) => `${pair} ${count}`).join(', ')}`);
  say(`reached: ${[...tally.sometimes].sort().join(', ')}`);
};

const runCampaign = async (seed: number, steps: number, plant: Plant | undefined): Promise<boolean> => {
  say(`simulating from seed ${seed} for ${steps} steps${plant === undefined ? '' : ` with ${plant}`}`);
  const began = performance.now();
  let current = '';
  // A world that takes the process with it is named all the same.
  process.on('uncaughtException', (error) => {
    say(`the process died in ${current}\n${error.stack}`);
    process.exit(2);
  });
  let said = 0;
  const { tally, failure } = await campaign({
    seed,
    steps,
    ...(plant === undefined ? {} : { plant }),
    onBegin: (config) => {
      current = JSON.stringify(config);
    },
    onWorld: (_, sofar) => {
      if (sofar.steps - said < PROGRESS_STEPS) return;
      said = sofar.steps;
      say(`  ${sofar.worlds} worlds, ${sofar.steps} steps, ${((performance.now() - began) / 1_000).toFixed(0)} s`);
    },
  });
  sayTally(tally, (performance.now() - began) / 1_000);
  if (failure === undefined) return true;
  sayFailure(failure);
  const smallest = await shrink(failure, plant);
  say('shrunk:');
  sayFailure(smallest);
  const [violation] = smallest.violations;
  const why = violation?.text ?? '';
  const invariant = violation?.invariant ?? '';
  const path = writeRegression({ why, invariant, ...(plant === undefined ? {} : { plant }), config: smallest.config });
  say(`stored as ${path}`);
  return false;
};

const runOne = async (path: string): Promise<boolean> => {
  const { config, plant } = JSON.parse(readFileSync(path, 'utf8')) as Regression;
  say(JSON.stringify(config));
  const result = await runWorld(config, plant);
  if (result.violations.length > 0) sayFailure(result);
  else say(`every promise holds, after ${result.steps} steps`);
  return result.violations.length === 0;
};

const runPlants = async (trials: number, stepsMax: number, seed: number): Promise<boolean> => {
  const findings = [];
  for (const plant of plantNames) {
    const finding = await findPlant(plant, { trials, stepsMax, seed });
    findings.push(finding);
    say(`${plant}: ${finding.steps.join(' ')} (${finding.by})`);
  }
  say(tableOf(findings));
  return findings.every(({ steps }) => steps.every(Number.isFinite));
};

const seed = Number(values.seed);
const steps = Number(values.steps);
const isWell =
  values.world !== undefined
    ? await runOne(values.world)
    : values.plants !== undefined
      ? await runPlants(Number(values.plants), steps, seed)
      : await runCampaign(seed, steps, plantOf(values.plant));
process.exitCode = isWell ? 0 : 1;
