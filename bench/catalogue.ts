import { isAskedFor } from './options.ts';
import { caches } from './scenarios/caches.ts';
import { chains } from './scenarios/chains.ts';
import { growth } from './scenarios/growth.ts';
import { idle } from './scenarios/idle.ts';
import { latencies } from './scenarios/latencies.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { shapes } from './scenarios/shapes.ts';
import { timers } from './scenarios/timers.ts';

const THEMES = [chains, shapes, latencies, timers, caches, idle, growth];

export const scenarios = (runs: number): readonly Scenario[] => THEMES.flatMap((theme) => theme(runs));

export const chosenScenarios = (runs: number, only: string | undefined): readonly Scenario[] =>
  scenarios(runs).filter(({ name, byNameOnly }) => isAskedFor(only, name, byNameOnly));
