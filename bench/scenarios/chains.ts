import { chain, payloadChain } from '../definitions.ts';
import { withConductorSdk } from '../doors/conductor-sdk.ts';
import type { Door } from '../doors/door.ts';
import { oneTaskPolls, oneTaskPollsOfApi, withLibrary } from '../doors/http.ts';
import { inProcess } from '../doors/in-process.ts';
import { type Scenario, saturated, share } from './scenario.ts';

const chainOf = (door: Door, length: number, runs: number): Scenario => ({
  name: `${door.name}: chain of ${length}`,
  run: (database) =>
    saturated(door, database, { definition: chain(length), runs, tasksPerRun: length, warmUp: share(runs, 0.1) }),
});

const KIB = 1_024;

const payloadChainOf = (door: Door, kib: number, runs: number): Scenario => ({
  name: `${door.name}: chain of 3 with payloads of ${kib} KB`,
  run: (database) =>
    saturated(door, database, {
      definition: payloadChain(3),
      input: { payload: { text: 'a word, and another; '.repeat((kib * KIB) / 21) } },
      runs,
      tasksPerRun: 3,
      warmUp: share(runs, 0.1),
    }),
});

export const chains = (runs: number): readonly Scenario[] => [
  chainOf(inProcess, 1, share(runs, 1)),
  chainOf(inProcess, 3, share(runs, 1)),
  chainOf(inProcess, 10, share(runs, 0.25)),
  chainOf(inProcess, 100, share(runs, 0.025)),
  chainOf(withLibrary, 1, share(runs, 0.5)),
  chainOf(withLibrary, 3, share(runs, 0.5)),
  chainOf(withLibrary, 10, share(runs, 0.15)),
  chainOf(oneTaskPolls, 3, share(runs, 0.25)),
  chainOf(oneTaskPollsOfApi, 3, share(runs, 0.25)),
  chainOf(withConductorSdk, 3, share(runs, 0.2)),
  chainOf(withConductorSdk, 5, share(runs, 0.1)),
  payloadChainOf(inProcess, 4, share(runs, 0.3)),
  payloadChainOf(inProcess, 100, share(runs, 0.05)),
  payloadChainOf(withLibrary, 4, share(runs, 0.2)),
  payloadChainOf(withLibrary, 100, share(runs, 0.03)),
];
