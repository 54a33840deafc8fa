import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EngineCommands, runCli } from '../../../src/adapters/cli/program.ts';
import { type ConductorServer, startConductorServer } from '../../conductor/support/conductor-server.ts';
import { registerFlow } from '../../conductor/support/runs.ts';

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer();
  await registerFlow(server, 'report', [{ name: 'n', taskReferenceName: 'n', type: 'NOOP' }]);
});
afterAll(() => server.close());

const unused = async (): Promise<never> => {
  throw new Error('no server runs here');
};
const commands: EngineCommands = {
  runDev: unused,
  runServe: unused,
  runMigrate: unused,
  runBootstrap: unused,
  runTestFile: unused,
  replayFile: unused,
};

const rondo = async (argv: readonly string[], files: Readonly<Record<string, string>> = {}) => {
  let [out, err] = ['', ''];
  const exitCode = await runCli(argv, commands, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    colour: false,
    env: { RONDO_URL: server.url },
    readFile: async (path) => files[path] ?? '',
    readStdin: async () => '',
  });
  return { exitCode, out, err };
};

const NIGHTLY = { name: 'nightly', cron: '30 2 * * *', timezone: 'Europe/Berlin', workflow: { name: 'report' } };

test('schedules are put from files, listed, read, previewed, paused, resumed, fired, followed and deleted', async () => {
  const files = { 'a.json': JSON.stringify([NIGHTLY, { ...NIGHTLY, name: 'hourly', cron: '0 * * * *' }]) };
  const put = await rondo(['schedules', 'put', 'a.json'], files);
  expect(put).toMatchObject({ exitCode: 0, err: '' });
  expect(put.out).toMatch(/nightly +created +20/);
  expect((await rondo(['schedules', 'put', 'a.json'], files)).out).toMatch(/hourly +unchanged/);
  expect((await rondo(['schedules', 'list'])).out).toMatch(
    /nightly +report +30 2 \* \* \* \(Europe\/Berlin\) +20.+going/,
  );
  expect(JSON.parse((await rondo(['schedules', 'get', 'nightly', '--json'])).out)).toMatchObject({ name: 'nightly' });
  const preview = await rondo(['schedules', 'preview', 'hourly', '--count', '3']);
  expect(preview.out.trimEnd().split('\n')).toHaveLength(3);
  expect((await rondo(['schedules', 'pause', 'nightly', '--reason', 'holidays'])).out).toMatch(/^paused, next run: 20/);
  expect((await rondo(['schedules', 'resume', 'nightly'])).out).toMatch(/^going, next run: 20/);
  const fired = await rondo(['schedules', 'fire', 'nightly']);
  expect(fired.out).toMatch(/^[0-9a-f-]{36}\n$/);
  expect((await rondo(['schedules', 'runs', 'nightly'])).out).toContain(fired.out.trim());
  expect((await rondo(['schedules', 'delete', 'hourly'])).out).toBe('deleted: hourly\n');
});

test('the schedule of the order example can be put', async () => {
  const file = await readFile(new URL('../../../examples/order/schedule.json', import.meta.url), 'utf8');
  expect((await rondo(['schedules', 'put', 'a.json'], { 'a.json': file })).out).toMatch(/order-of-the-day +created/);
});

test('what is refused is one line and an exit code of its own', async () => {
  const refused = async (document: object) =>
    rondo(['schedules', 'put', 'a.json'], { 'a.json': JSON.stringify(document) });
  expect(await refused({ ...NIGHTLY, cron: '61 * * * *' })).toMatchObject({ exitCode: 3, out: '' });
  expect((await refused({ ...NIGHTLY, cron: '61 * * * *' })).err).toContain('INVALID_SCHEDULE');
  expect((await refused({ cron: '0 0 * * *', workflow: { name: 'report' } })).err).toContain('needs a name');
  expect((await rondo(['schedules', 'fire', 'nobody'])).err).toContain('NOT_FOUND');
});
