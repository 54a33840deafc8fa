import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests that need no database are a project of their own, so that running a few of them starts no server.
const WITHOUT_DATABASE = 'test/{unit,property,architecture,simulation,conductor}/**/*.test.ts';

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // One fewer than there are processors unless told, which on two of them leaves one idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // `npm run coverage`: how much of the domain the unit tests reach.
    coverage: { include: ['src/domain/**'], reporter: ['text'], thresholds: { branches: 95 } },
    projects: [
      { extends: true, test: { name: 'pure', include: [WITHOUT_DATABASE] } },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: ['test/**/*.test.ts'],
          exclude: [WITHOUT_DATABASE],
          globalSetup: ['test/support/global-postgres.ts'],
        },
      },
    ],
  },
});
