import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killRound } from '../support/kill-rounds.ts';
import { ServerProcess } from '../support/server-process.ts';

const START_MS_MAX = 90_000;
const ROUND_MS_MAX = 90_000;
const RUNS = 200;

describe('a server that is killed', () => {
  let server: ServerProcess | undefined;

  beforeAll(async () => {
    server = await ServerProcess.create();
    await server.start();
  }, START_MS_MAX);

  afterAll(() => server?.destroy(), START_MS_MAX);

  it(
    'twice, and its PostgreSQL once, loses nothing it acknowledged: all runs complete, no task twice, no gap',
    async () => {
      if (server === undefined) throw new Error('the server did not start');
      const report = await killRound(server, {
        runs: RUNS,
        kills: [
          { afterHandled: 90, victim: 'server' },
          { afterHandled: 240, victim: 'postgres' },
          { afterHandled: 390, victim: 'server' },
        ],
        endMsMax: ROUND_MS_MAX - 10_000,
      });
      expect(report.problems).toEqual([]);
      // Every kill met work under way, else the round showed nothing.
      expect(report.openAtKill).toHaveLength(3);
      for (const open of report.openAtKill) expect(open).toBeGreaterThan(100);
      expect(report.acceptedReports).toBeGreaterThan(50);
    },
    ROUND_MS_MAX,
  );
});
