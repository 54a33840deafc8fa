/**
 * `npm run bench [-- --only TEXT] [--runs N] [--repeat N] [--json FILE] [--list]`: measures this checkout on this machine, on a
 * PostgreSQL with durable commits; with `--peers`, beside other engines and what PostgreSQL itself can do. Absolute figures
 * belong to the machine; compare ratios of one run. Nothing else should run beside it.
 */
import { writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { chosenScenarios, scenarios } from './catalogue.ts';
import { type BenchServer, openBenchServer } from './database.ts';
import { type Figures, medianOf } from './figures.ts';
import { numbers } from './measure.ts';
import { type Options, parseOptions } from './options.ts';
import { comparePeers } from './peers/compare.ts';
import type { Scenario } from './scenarios/scenario.ts';

const main = async (options: Options): Promise<void> => {
  if (options.list) {
    for (const { name, byNameOnly } of scenarios(options.runs))
      console.log(byNameOnly ? `${name} (by name only)` : name);
    return;
  }
  const server = await openBenchServer();
  try {
    const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? '?'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
    console.log(machine);
    console.log(
      Object.entries(server.settings)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
    );
    const results = options.peers ? await comparePeers(server, options) : await runScenarios(server, options);
    if (options.json === undefined) return;
    const { runs, repeat } = options;
    const report = { machine, settings: server.settings, runs, repeat, results };
    writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    await server.close();
  }
};

const runScenarios = async (server: BenchServer, options: Options): Promise<Record<string, Figures>> => {
  const results: Record<string, Figures> = {};
  for (const scenario of chosenScenarios(options.runs, options.only)) {
    const figures = await runScenario(server, scenario, options.repeat);
    results[scenario.name] = figures;
    console.log(`\n${scenario.name}`);
    for (const [name, value] of Object.entries(figures)) console.log(`  ${name.padEnd(36)} ${value}`);
  }
  return results;
};

/** Each time in a database of its own, so that no scenario finds what another left behind. */
const runScenario = async (server: BenchServer, scenario: Scenario, repeat: number): Promise<Figures> => {
  const all: Figures[] = [];
  for (const _ of numbers(0, repeat)) {
    const database = await server.fresh();
    try {
      all.push(await scenario.run(database));
    } catch (error) {
      // The others have figures all the same, and the exit code tells.
      process.exitCode = 1;
      return { failed: error instanceof Error ? error.message : String(error) };
    } finally {
      await database.close();
    }
  }
  return medianOf(all);
};

await main(parseOptions(process.argv.slice(2)));
