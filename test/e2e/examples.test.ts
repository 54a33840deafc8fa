import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT, run, startRondo } from './rondo-process.ts';

const START_MS_MAX = 120_000;
const EXAMPLE_MS_MAX = 120_000;
const FAILURE_RUN_MS_MAX = 20_000;

let rondo: Awaited<ReturnType<typeof startRondo>>;

beforeAll(async () => {
  rondo = await startRondo();
}, START_MS_MAX);

const workers = new AbortController();

afterAll(async () => {
  workers.abort();
  await rondo?.stop();
});

const node = (...args: readonly string[]) => run(process.execPath, args, rondo.environment);
const cli = (...args: readonly string[]) => node('src/main.ts', ...args);

const registerExample = async (folder: string, ...workflows: readonly string[]) => {
  const files = workflows.map((file) => `examples/${folder}/${file}`);
  expect(await cli('tasks', 'register', `examples/${folder}/tasks.json`)).toMatchObject({ exitCode: 0, err: '' });
  expect(await cli('workflows', 'register', ...files)).toMatchObject({ exitCode: 0, err: '' });
};

test(
  'the order example completes, reviews what is large, and tells the customer of what failed',
  async () => {
    const ran = await node('examples/run.ts', 'order');
    expect(ran).toMatchObject({ exitCode: 0, err: '' });
    const [small, large, declined] = ran.out.trimEnd().split('\n');
    expect(small).toMatch(/a small order: COMPLETED .*"reviewedBy":null,"trackingId":"track-A1"/);
    expect(large).toMatch(/a large order, reviewed: COMPLETED .*"reviewedBy":"senior reviewer"/);
    expect(declined).toMatch(/a card that is declined: FAILED .*card declined/);
    // The failure workflow starts through the outbox, a moment after the run ended.
    const failureRuns = async () => {
      const listed = await cli('executions', 'list', '--name', 'order_failed', '--json');
      return JSON.parse(listed.out).executions.length;
    };
    await expect.poll(failureRuns, { timeout: FAILURE_RUN_MS_MAX, interval: 500 }).toBe(1);
  },
  EXAMPLE_MS_MAX,
);

test(
  'the fan-out example adds up a thousand branches',
  async () => {
    const ran = await node('examples/run.ts', 'fan-out');
    expect(ran).toMatchObject({ exitCode: 0, err: '' });
    expect(ran.out).toMatch(/COMPLETED .*\{"total":333833500,"branches":1000\}/);
  },
  EXAMPLE_MS_MAX,
);

test(
  'the loop example ends at the pass that found the job ready',
  async () => {
    const ran = await node('examples/run.ts', 'loop');
    expect(ran).toMatchObject({ exitCode: 0, err: '' });
    expect(ran.out).toMatch(/COMPLETED .*\{"passes":3,"ready":true\}/);
  },
  EXAMPLE_MS_MAX,
);

test(
  'a shell script is a worker, and the command line sees the run through',
  async () => {
    await registerExample('loop', 'workflow.json');
    const environment = { ...rondo.environment, TASKS_MAX: '1' };
    const worker = run('sh', [`${ROOT}examples/shell-worker.sh`, 'check_job'], environment, workers.signal);
    const ran = await cli('run', 'poll_job', '--wait', '--json');
    expect(ran).toMatchObject({ exitCode: 0, err: '' });
    const ended = JSON.parse(ran.out);
    expect(ended).toMatchObject({ status: 'COMPLETED', output: { passes: 1, ready: true } });
    expect(await worker).toMatchObject({ exitCode: 0 });
    const tail = await cli('tail', ended.workflowId, '--json');
    const events = tail.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ type: 'ExecutionClosed', status: 'COMPLETED' });
    const history = await cli('history', ended.workflowId, '--json');
    expect(JSON.parse(history.out).events).toEqual(events);
  },
  EXAMPLE_MS_MAX,
);

test(
  'run --wait exits 2 for a run that still runs and 3 for a workflow that is not there',
  async () => {
    await registerExample('loop', 'workflow.json');
    const waiting = await cli('run', 'poll_job', '--wait', '--timeout', '1', '--json');
    expect(waiting.exitCode).toBe(2);
    const { workflowId } = JSON.parse(waiting.out);
    expect(await cli('executions', 'terminate', workflowId, '--reason', 'enough')).toMatchObject({ exitCode: 0 });
    expect(JSON.parse((await cli('executions', 'get', workflowId, '--json')).out)).toMatchObject({
      status: 'TERMINATED',
      reason: 'enough',
    });
    const unknown = await cli('run', 'no_such_workflow', '--wait');
    expect(unknown).toMatchObject({ exitCode: 3, out: '' });
    expect(unknown.err).toMatch(/^error NOT_FOUND: [^\n]+\n$/);
  },
  EXAMPLE_MS_MAX,
);
