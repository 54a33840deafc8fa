/**
 * The long form of test/e2e/kill.test.ts: a real server under load is killed again and again, its PostgreSQL as well, at
 * moments drawn anew for each round, and after each round everything it acknowledged must be there.
 *
 *   node scripts/kill-loop.ts --rounds 100 [--runs 200] [--kills 4] [--postgres 0.25] [--seed 1]
 *
 *   --rounds    rounds to run; the first with a problem ends the loop with exit code 1
 *   --runs      runs of three steps each that a round starts
 *   --kills     kills a round
 *   --postgres  share of the kills that strike PostgreSQL's first process instead of the server
 *   --seed      draws the same kills again; the moments are counts of handled tasks, not times
 *
 * One line a round. A kill that met no work under way shows nothing, so such a round counts as void and is told.
 */
import { parseArgs } from 'node:util';
import { unitHash } from '../src/domain/kernel/hash.ts';
import { type Kill, killRound } from '../test/support/kill-rounds.ts';
import { ServerProcess } from '../test/support/server-process.ts';

const ROUND_MS_MAX = 180_000;
const STEPS_PER_RUN = 3;
const OUTPUT_CHARS_MAX = 4_000;
/** The last part of the work is left alone, so that every kill finds some. */
const KILLED_SHARE = 0.85;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    runs: { type: 'string', default: '200' },
    kills: { type: 'string', default: '4' },
    postgres: { type: 'string', default: '0.25' },
    seed: { type: 'string', default: '1' },
  },
});
const [rounds, runs, kills, postgresShare] = [values.rounds, values.runs, values.kills, values.postgres].map(Number);

const planOf = (round: number): readonly Kill[] =>
  Array.from({ length: kills ?? 0 }, (_, index) => {
    const chance = (what: string): number => unitHash(`${values.seed}/${round}/${index}/${what}`);
    return {
      afterHandled: 1 + Math.floor(chance('when') * (runs ?? 0) * STEPS_PER_RUN * KILLED_SHARE),
      victim: chance('victim') < (postgresShare ?? 0) ? 'postgres' : 'server',
    };
  });

const server = await ServerProcess.create();
await server.start();
let [struck, isVoid] = [0, 0];
try {
  for (let round = 1; round <= (rounds ?? 0); round += 1) {
    const plan = planOf(round);
    const begun = performance.now();
    const report = await killRound(server, { runs: runs ?? 0, kills: plan, endMsMax: ROUND_MS_MAX });
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
    struck += report.openAtKill.length;
    isVoid += report.openAtKill.every((open) => open > 0) ? 0 : 1;
    const victims = plan.map(({ victim }) => victim).join(' ');
    process.stdout.write(
      `round ${round}: ${seconds} s, killed ${victims}, ${report.handled} attempts, ${report.acceptedReports} acknowledged reports, ${report.problems.length} problems\n`,
    );
    if (report.problems.length === 0) continue;
    process.stdout.write(`${report.problems.join('\n')}\n${server.output.slice(-OUTPUT_CHARS_MAX)}\n`);
    process.exitCode = 1;
    break;
  }
  process.stdout.write(
    `${struck} kills, ${isVoid} void rounds, ${process.exitCode === 1 ? 'FAILED' : 'nothing lost'}\n`,
  );
} finally {
  await server.destroy();
}
