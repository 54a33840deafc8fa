import { expect, test } from 'vitest';
import { connectDatabase } from '../../bench/database.ts';
import { chain } from '../../bench/definitions.ts';
import { inProcessDoor } from '../../bench/doors/in-process.ts';
import { saturated } from '../../bench/scenarios/scenario.ts';
import { allowUnsafeDurability, createTestDatabase } from '../support/postgres.ts';

const RUNS = 6;
const LENGTH = 3;

test('a scenario of the bench runs its chains to their end and has every figure', async () => {
  const { url, drop } = await createTestDatabase();
  const database = await connectDatabase(url);
  try {
    const load = { definition: chain(LENGTH), runs: RUNS, tasksPerRun: LENGTH, warmUp: 2 };
    const figures = await saturated(inProcessDoor(allowUnsafeDurability()), database, load);
    expect(figures).toMatchObject({ workflows: RUNS, tasks: RUNS * LENGTH });
    const measured = [
      'workflows/s',
      'tasks/s',
      'start to first task p50 ms',
      'start to first task p99 ms',
      'report to next task p50 ms',
      'report to next task p99 ms',
      'WAL bytes/task',
      'Node CPU ms/task',
    ];
    for (const name of measured) expect(figures[name], name).toBeGreaterThan(0);
    expect(figures).toHaveProperty(['transactions/task']);
    const { rows } = await database.client.query(
      `select status, count(*)::int from workflow_executions group by status`,
    );
    expect(rows).toEqual([{ status: 'COMPLETED', count: RUNS + 2 }]);
  } finally {
    await database.close();
    await drop();
  }
});
