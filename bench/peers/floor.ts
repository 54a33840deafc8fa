import pg from 'pg';
import { closedLoop, type Peer, RunNotes, type RunningPeer } from './peer.ts';

const CONNECTIONS = 16;
const BATCH_CONNECTIONS = 4;
const BATCH_RUNS = 50;

/** What an engine has to write for a step, and no more: the run with its version, its events, one task out and one in. */
const TABLES = `
  create table floor_runs (id text primary key, version integer not null) with (fillfactor = 70);
  create table floor_events (run text not null, seq integer not null, data json not null, primary key (run, seq));
  create table floor_tasks (run text not null, n integer not null, data json not null, primary key (run, n))`;

const EVENT = '{"type":"TaskCompleted","output":{"ok":true}}';

const START = `
  with given as (select * from json_to_recordset($1) as of_a_run (run text)),
  begun as (insert into floor_runs select run, 0 from given),
  noted as (insert into floor_events select run, 0, '${EVENT}' from given)
  insert into floor_tasks select run, 1, '${EVENT}' from given`;

const STEP = `
  with given as (select * from json_to_recordset($1) as of_a_run (run text, n integer)),
  moved as (
    update floor_runs set version = version + 1 from given where id = run and version = n - 1 returning run, n
  ),
  noted as (insert into floor_events select run, 2 * n - half, '${EVENT}' from moved, generate_series(0, 1) as half),
  gone as (delete from floor_tasks using moved where floor_tasks.run = moved.run and floor_tasks.n = moved.n)
  insert into floor_tasks select run, n + 1, '${EVENT}' from moved`;

const COMMIT = `
  insert into floor_events select run, n, '${EVENT}' from json_to_recordset($1) as of_a_run (run text, n integer)`;

type Call = Readonly<{ run: string; n: number }>;

/** Sends what has gathered while the statements before were under way, so many rows at a time at most. */
const batcher = (pool: pg.Pool, text: string, name: string, rowsMax: number, flightsMax: number) => {
  let waiting: Readonly<{ call: Call; resolve: () => void; reject: (error: unknown) => void }>[] = [];
  let flights = 0;
  const fly = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, rowsMax);
      waiting = waiting.slice(rowsMax);
      try {
        await pool.query({ name, text, values: [JSON.stringify(batch.map(({ call }) => call))] });
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    flights -= 1;
  };
  return (call: Call): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.push({ call, resolve, reject });
      if (flights >= flightsMax) return;
      flights += 1;
      // What comes in this turn of the event loop flies together.
      setImmediate(() => void fly());
    });
};

const floor = (
  name: string,
  statements: Readonly<{ start: string | undefined; step: string }>,
  rowsMax: number,
  flightsMax: number,
): Peer => ({
  name,
  start: async (url): Promise<RunningPeer> => {
    const pool = new pg.Pool({ connectionString: url, max: flightsMax * 2 });
    await pool.query(TABLES);
    const { start, step } = statements;
    const begin = start === undefined ? undefined : batcher(pool, start, 'start', rowsMax, flightsMax);
    const advance = batcher(pool, step, 'step', rowsMax, flightsMax);
    return {
      run: (order) => {
        const notes = new RunNotes();
        return closedLoop(order, notes, async (run) => {
          await begin?.({ run, n: 0 });
          for (let n = 1; n <= order.steps; n += 1) {
            notes.step(run, n);
            await advance({ run, n });
          }
        });
      },
      stop: () => pool.end(),
    };
  },
});

export const floorByOne = floor('floor: a statement a step', { start: START, step: STEP }, 1, CONNECTIONS);
export const floorByFifty = floor(
  `floor: a statement for ${BATCH_RUNS} runs`,
  { start: START, step: STEP },
  BATCH_RUNS,
  BATCH_CONNECTIONS,
);
export const floorOfCommits = floor(
  'floor: a row and a commit a step',
  { start: undefined, step: COMMIT },
  1,
  CONNECTIONS,
);
