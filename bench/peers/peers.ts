import { absurd } from './absurd.ts';
import { dbos } from './dbos.ts';
import { floorByFifty, floorByOne, floorOfCommits } from './floor.ts';
import { graphileWorker, graphileWorkerInBatches } from './graphile-worker.ts';
import type { Peer } from './peer.ts';
import { pgBoss } from './pg-boss.ts';
import { restate } from './restate.ts';
import { rondoHttp, rondoInProcess } from './rondo.ts';

/** In the order in which they are measured. */
export const PEERS: readonly Peer[] = [
  rondoInProcess,
  rondoHttp,
  dbos,
  absurd,
  restate,
  pgBoss,
  graphileWorker,
  graphileWorkerInBatches,
  floorByOne,
  floorByFifty,
  floorOfCommits,
];

/** Rondo's own, which every other is compared with. */
export const OURS = [rondoInProcess.name, rondoHttp.name] as const;
