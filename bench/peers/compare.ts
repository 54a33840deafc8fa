import type { BenchServer } from '../database.ts';
import { type Figures, medianOf, ratio, table } from '../figures.ts';
import { numbers } from '../measure.ts';
import { isAskedFor, type Options } from '../options.ts';
import { installPeers } from './install.ts';
import { measurePeer, startPeer } from './measured-peer.ts';
import { OURS, PEERS } from './peers.ts';

/** How long each combination is measured, at the pace of its warm-up. */
const SECONDS = 1;

export type PeerResult = Readonly<{ name: string; figures: readonly Figures[]; failed?: string }>;

/** Rondo and each peer in turn, one after the other on the same PostgreSQL; one that fails stops no other. */
export const comparePeers = async (server: BenchServer, options: Options): Promise<readonly PeerResult[]> => {
  installPeers();
  const chosen = PEERS.filter(({ name }) => isOurs(name) || isAskedFor(options.only, name));
  const results: PeerResult[] = [];
  for (const { name } of chosen) {
    const result = await measureOne(server, name, options);
    results.push(result);
    console.log(result.failed === undefined ? `${name}: measured` : `${name}: failed: ${result.failed}`);
  }
  console.log(`\n${comparison(results)}`);
  return results;
};

const isOurs = (name: string): boolean => OURS.some((ours) => ours === name);

const measureOne = async (server: BenchServer, name: string, options: Options): Promise<PeerResult> => {
  const database = await server.empty();
  const figures: Figures[] = [];
  try {
    const peer = await startPeer(name, database.url);
    try {
      for (const steps of options.steps) {
        for (const inFlight of options.inFlight) {
          const cell = { steps, inFlight, seconds: SECONDS, runsMax: options.runs };
          const repeats: Figures[] = [];
          for (const _ of numbers(0, options.repeat)) repeats.push(await measurePeer(peer, database, cell));
          figures.push(medianOf(repeats));
        }
      }
    } finally {
      await peer.stop();
    }
    return { name, figures };
  } catch (error) {
    return { name, figures, failed: error instanceof Error ? error.message : String(error) };
  } finally {
    await database.close();
  }
};

const COLUMNS = [
  'workflows/s',
  'steps/s',
  'workflow p50 ms',
  'workflow p99 ms',
  'start to step p50 ms',
  'start to step p99 ms',
  'step to step p50 ms',
  'step to step p99 ms',
  'tx/workflow',
  'WAL bytes/workflow',
  'CPU ms/workflow',
];

/** By steps and in flight, each peer beside Rondo, with how many times as many workflows a second Rondo does. */
export const comparison = (results: readonly PeerResult[]): string => {
  const rows = results.flatMap(({ name, figures }) => figures.map((of) => ({ name, of })));
  const place = ({ of }: (typeof rows)[number]): number => Number(of.steps) * 1_000_000 + Number(of['in flight']);
  // The sort keeps the order of the peers within a combination.
  const sorted = rows.toSorted((a, b) => place(a) - place(b));
  const ours = (name: string, like: Figures): unknown =>
    rows.find(
      ({ name: other, of }) => other === name && of.steps === like.steps && of['in flight'] === like['in flight'],
    )?.of['workflows/s'];
  return table(
    ['steps', 'in flight', 'engine', ...COLUMNS, 'in-process ÷ it', 'HTTP ÷ it'],
    sorted.map(({ name, of }) => [
      of.steps ?? '',
      of['in flight'] ?? '',
      name,
      ...COLUMNS.map((column) => of[column] ?? '–'),
      ...OURS.map((own) => ratio(ours(own, of), of['workflows/s'])),
    ]),
  );
};
