/**
 * `npm run bench [-- --only TEXT] [--runs N] [--json FILE]`: measures this checkout on this machine, on a PostgreSQL with
 * durable commits. Absolute figures belong to the machine; compare ratios of one run. Nothing else should run beside it.
 */
import { writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { oneByOne, sdkChain } from './conductor-scenarios.ts';
import { openBenchDatabase, settings } from './database.ts';
import { httpChain, httpLatency } from './http-scenarios.ts';
import { bigFork, bigRun, type Figures, inProcessChain, longLoop, type Scenario } from './scenarios.ts';
import { timers } from './timer-scenarios.ts';

const { values } = parseArgs({
  options: { only: { type: 'string' }, runs: { type: 'string' }, json: { type: 'string' } },
});
const runs = Number(values.runs ?? 5_000);

const scenarios: readonly Scenario[] = [
  inProcessChain(1, runs),
  inProcessChain(3, runs),
  inProcessChain(10, Math.ceil(runs / 4)),
  httpChain(3, Math.ceil(runs / 2)),
  oneByOne('v1', 3, Math.ceil(runs / 5)),
  oneByOne('api', 3, Math.ceil(runs / 5)),
  sdkChain(3, Math.ceil(runs / 5)),
  sdkChain(5, Math.ceil(runs / 5)),
  httpLatency(1, 5),
  httpLatency(100, 10),
  bigFork(1_000),
  bigFork(10_000),
  longLoop(10_000),
  bigRun(10_000),
  timers(50, 1_000),
];

const chosen = scenarios.filter(({ name }) => values.only === undefined || name.includes(values.only));
const results: Record<string, Figures> = {};

const database = await openBenchDatabase();
try {
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? '?'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
  console.log(machine);
  console.log(
    Object.entries(await settings(database.client))
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
  );
  for (const scenario of chosen) {
    const figures = await scenario.run(database);
    results[scenario.name] = figures;
    console.log(`\n${scenario.name}`);
    for (const [name, value] of Object.entries(figures)) console.log(`  ${name.padEnd(28)} ${value}`);
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
} finally {
  await database.close();
}
