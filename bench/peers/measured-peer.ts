import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BenchDatabase } from '../database.ts';
import type { Figures } from '../figures.ts';
import { quantile, round } from '../measure.ts';
import { cpuMsOfTree } from '../processes.ts';
import type { Order, Samples } from './peer.ts';

type Reply = Readonly<{ kind: 'ready' } | { kind: 'samples'; samples: Samples } | { kind: 'failed'; message: string }>;

export type PeerProcess = Readonly<{
  pid: number;
  run(order: Order): Promise<Samples>;
  stop(): Promise<void>;
}>;

const STOP_MS_MAX = 20_000;
/** A peer that takes longer for one measurement is stuck. */
const REPLY_MS_MAX = 120_000;

/** @throws Error when the peer does not start, with what it said */
export const startPeer = async (name: string, url: string): Promise<PeerProcess> => {
  const child = fork(fileURLToPath(new URL('./peer-process.ts', import.meta.url)), [name, url]);
  const exited = once(child, 'exit');
  const reply = async (): Promise<Extract<Reply, { kind: 'ready' | 'samples' }>> => {
    const late = AbortSignal.timeout(REPLY_MS_MAX);
    const ended = exited.then(([code]) => ({ kind: 'failed' as const, message: `its process ended with ${code}` }));
    const said = once(child, 'message', { signal: late }).then(([message]): Reply => message);
    const answer = await Promise.race([said, ended]);
    if (answer.kind === 'failed') throw new Error(answer.message);
    return answer;
  };
  const stop = async (): Promise<void> => {
    if (child.connected) child.send('stop');
    const killing = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
    await exited;
    clearTimeout(killing);
  };
  try {
    await reply();
  } catch (error) {
    child.kill('SIGKILL');
    await exited;
    throw error;
  }
  const run = async (order: Order): Promise<Samples> => {
    child.send(order);
    const answer = await reply();
    if (answer.kind !== 'samples') throw new Error('it answered an order with something else');
    return answer.samples;
  };
  return { pid: child.pid ?? 0, run, stop };
};

const WARM_UP_RUNS = 20;

/** The figures of one combination, in as many runs as take the time at the pace of the warm-up. */
export const measurePeer = async (
  peer: PeerProcess,
  database: BenchDatabase,
  {
    steps,
    inFlight,
    seconds,
    runsMax,
  }: Readonly<{ steps: number; inFlight: number; seconds: number; runsMax: number }>,
): Promise<Figures> => {
  const warmUp = Math.min(runsMax, Math.max(WARM_UP_RUNS, 2 * inFlight));
  const warm = await peer.run({ steps, inFlight, runs: warmUp });
  const runs = Math.min(runsMax, Math.max(inFlight, Math.ceil((warmUp / warm.seconds) * seconds)));
  await database.checkpoint();
  const before = { postgres: await database.counters(), node: cpuMsOfTree(peer.pid) };
  const samples = await peer.run({ steps, inFlight, runs });
  const after = { postgres: await database.counters(), node: cpuMsOfTree(peer.pid) };
  const cpuMs =
    (after.node ?? Number.NaN) -
    (before.node ?? Number.NaN) +
    (after.postgres.cpuMs ?? Number.NaN) -
    (before.postgres.cpuMs ?? Number.NaN);
  return {
    steps,
    'in flight': inFlight,
    runs,
    'workflows/s': round(runs / samples.seconds, 0),
    'steps/s': round((runs * steps) / samples.seconds, 0),
    ...both('workflow', samples.wholes),
    ...both('start to step', samples.firsts),
    ...both('step to step', samples.steps),
    'tx/workflow': round((after.postgres.transactions - before.postgres.transactions) / runs, 2),
    'WAL bytes/workflow': round((after.postgres.walBytes - before.postgres.walBytes) / runs, 0),
    'CPU ms/workflow': round(cpuMs / runs, 2),
  };
};

const both = (label: string, samples: readonly number[]): Figures => ({
  [`${label} p50 ms`]: samples.length === 0 ? '–' : round(quantile(samples, 0.5), 2),
  [`${label} p99 ms`]: samples.length === 0 ? '–' : round(quantile(samples, 0.99), 2),
});
