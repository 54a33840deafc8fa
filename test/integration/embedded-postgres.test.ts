import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/adapters/embedded-postgres/embedded-postgres.ts';

const OWNER = join(import.meta.dirname, '..', 'support', 'embedded-postgres-owner.ts');
const isRoot = process.getuid?.() === 0;

let prepared: string;
let scratch: string;
let home: string;
const running = new Set<EmbeddedPostgres>();
const owners = new Set<ChildProcess>();

/** Collects log lines and lets a test wait for one. */
const createLog = () => {
  const waiting = new Set<{ pattern: RegExp; resolve: () => void }>();
  const lines: string[] = [];
  const log = (line: string) => {
    lines.push(line);
    for (const entry of waiting) if (entry.pattern.test(line)) entry.resolve();
  };
  const heard = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      waiting.add({ pattern, resolve });
    });
  return { log, lines, heard };
};

const start = async (options: { home?: string; durable?: boolean; log?: (line: string) => void } = {}) => {
  const server = await startEmbeddedPostgres({
    home,
    durable: false,
    binaries: 'bundled',
    log: () => undefined,
    ...options,
  });
  running.add(server);
  return server;
};

const stop = async (server: EmbeddedPostgres) => {
  running.delete(server);
  await server.stop();
};

const query = async (url: string, statement: string): Promise<unknown[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
};

const postmasterPid = async (server: EmbeddedPostgres): Promise<number> =>
  Number((await readFile(join(server.directory, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0]);

const startOwner = async (durability = 'durable') => {
  const child = spawn(process.execPath, [OWNER, home, durability], { stdio: ['pipe', 'pipe', 'inherit'] });
  owners.add(child);
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { child, ...(JSON.parse(String(line)) as { url: string; port: number; reused: boolean }) };
};

const kill = async (child: ChildProcess) => {
  owners.delete(child);
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
};

const makeScratch = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rondo-embedded-'));
  // mkdtemp closes the folder to others, and root's server runs as another user.
  await chmod(folder, 0o755);
  return folder;
};

/** Ends a server that a failed test left behind. Its pid is known from our own folder only. */
const endLeftover = async () => {
  const pidFile = await readFile(join(home, 'postgres', 'data', 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(pidFile.split('\n')[0]);
  if (pid > 0 && pid !== process.pid) process.kill(pid, 'SIGQUIT');
};

/** A home as a first start leaves it. Making it takes a second, copying it a tenth. */
const useHome = () => execFileSync('cp', ['-a', prepared, home]);

beforeAll(async () => {
  prepared = join(await makeScratch(), 'home');
  await stop(await start({ home: prepared }));
});

afterAll(() => rm(dirname(prepared), { recursive: true, force: true }));

beforeEach(async () => {
  scratch = await makeScratch();
  home = join(scratch, 'home');
});

afterEach(async () => {
  for (const child of owners) await kill(child);
  for (const server of running) await stop(server);
  await endLeftover();
  await rm(scratch, { recursive: true, force: true });
});

describe('a server of ones own', () => {
  beforeEach(useHome);

  test('data and port are the same after a stop and a new start', async () => {
    const first = await start();
    await query(first.url, 'create table kept as select 7 as value');
    await stop(first);
    await expect(query(first.url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    const second = await start();
    expect(second).toMatchObject({ url: first.url, port: first.port, reused: false });
    expect(await query(second.url, 'select value from kept')).toEqual([{ value: 7 }]);
  });

  test('a durable server never acknowledges what a crash could lose', async () => {
    const { url } = await start({ durable: true });
    const settings = await query(
      url,
      `select name, setting from pg_settings
        where name in ('fsync', 'synchronous_commit', 'full_page_writes') order by name`,
    );
    expect(settings).toEqual([
      { name: 'fsync', setting: 'on' },
      { name: 'full_page_writes', setting: 'on' },
      { name: 'synchronous_commit', setting: 'on' },
    ]);
  });

  test('a server left without fsync is replaced before a durable start uses it', async () => {
    const careless = await startOwner('disposable');
    expect(await query(careless.url, 'show fsync')).toEqual([{ fsync: 'off' }]);
    await kill(careless.child);
    const durable = await start({ durable: true });
    expect(await query(durable.url, 'show fsync')).toEqual([{ fsync: 'on' }]);
  });

  test('nobody gets in without the password, and nobody else can read it', async () => {
    const { url, directory } = await start();
    const guessed = new URL(url);
    guessed.password = 'guessed';
    await expect(query(guessed.toString(), 'select 1')).rejects.toMatchObject({ code: '28P01' });
    expect((await stat(join(directory, 'password'))).mode & 0o077).toBe(0);
    expect((await stat(join(directory, 'data'))).mode & 0o077).toBe(0);
    expect(await query(url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    expect(await query(url, 'show unix_socket_directories')).toEqual([{ unix_socket_directories: '' }]);
  });

  test('another port is taken when another program holds the remembered one', async () => {
    const first = await start();
    await stop(first);
    const squatter = createServer().listen(first.port, '127.0.0.1');
    await once(squatter, 'listening');
    const second = await start();
    expect(second.port).not.toBe(first.port);
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    squatter.close();
  });
});

describe('after a kill', () => {
  beforeEach(useHome);

  test('a server whose owner was killed goes on, and the next owner gets it with its data', async () => {
    const owner = await startOwner();
    await query(owner.url, 'create table kept as select 7 as value');
    await kill(owner.child);
    const next = await start({ durable: true });
    expect(next).toMatchObject({ url: owner.url, reused: true });
    expect(await query(next.url, 'select value from kept')).toEqual([{ value: 7 }]);
  });

  test('a killed server comes back on its port with every committed row', async () => {
    const { log, heard } = createLog();
    const server = await start({ durable: true, log });
    await query(server.url, 'create table kept as select 7 as value');
    for (const round of [1, 2]) {
      const back = heard(/was started again on port/);
      process.kill(await postmasterPid(server), 'SIGKILL');
      await back;
      expect(await query(server.url, `select value, ${round} as round from kept`)).toEqual([{ value: 7, round }]);
    }
  });

  test('a server that outlived its owner is watched as well', async () => {
    const owner = await startOwner();
    await kill(owner.child);
    const { log, heard } = createLog();
    const next = await start({ durable: true, log });
    const back = heard(/was started again on port/);
    process.kill(await postmasterPid(next), 'SIGKILL');
    await back;
    expect(await query(owner.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('owner and server killed together leave nothing that hinders the next start', async () => {
    const owner = await startOwner();
    await query(owner.url, 'create table kept as select 7 as value');
    const pidFile = await readFile(join(home, 'postgres', 'data', 'postmaster.pid'), 'utf8');
    await kill(owner.child);
    process.kill(Number(pidFile.split('\n')[0]), 'SIGKILL');
    const next = await start({ durable: true });
    expect(next.reused).toBe(false);
    expect(await query(next.url, 'select value from kept')).toEqual([{ value: 7 }]);
  });

  test('a stale postmaster.pid whose pid now belongs to another program does not hinder the start', async () => {
    const first = await start();
    const pidFile = join(first.directory, 'data', 'postmaster.pid');
    const lines = (await readFile(pidFile, 'utf8')).split('\n');
    await stop(first);
    // The user who runs the server must be able to signal this pid, or PostgreSQL would know by itself that it is not one.
    const bystander = spawn('sleep', ['60'], isRoot ? { uid: 65_534, gid: 65_534 } : {});
    owners.add(bystander);
    await writeFile(pidFile, [bystander.pid, ...lines.slice(1)].join('\n'));
    const second = await start();
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(bystander.exitCode).toBeNull();
  });
});

describe('refusals', () => {
  test('a second owner of one home is refused, and the first keeps its server', async () => {
    useHome();
    const owner = await startOwner();
    await expect(start({ durable: true })).rejects.toMatchObject({
      code: 'HOME_IN_USE',
      message: expect.stringContaining(`pid ${owner.child.pid}`),
    });
    expect(await query(owner.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await kill(owner.child);
    await start({ durable: true });
  });

  test('data of another major version is left alone, with a message that names both', async () => {
    const data = join(home, 'postgres', 'data');
    await mkdir(data, { recursive: true });
    await writeFile(join(data, 'PG_VERSION'), '14\n');
    await expect(start()).rejects.toMatchObject({
      code: 'DATA_DIRECTORY_VERSION',
      message: expect.stringMatching(/made by PostgreSQL 14, this is PostgreSQL 18/),
    });
    expect(await readFile(join(data, 'PG_VERSION'), 'utf8')).toBe('14\n');
  });

  test('a folder that is no data directory is not touched', async () => {
    const data = join(home, 'postgres', 'data');
    await mkdir(data, { recursive: true });
    await writeFile(join(data, 'holiday.txt'), 'photos');
    await expect(start()).rejects.toMatchObject({ code: 'DATA_DIRECTORY_CORRUPT' });
    expect(await readFile(join(data, 'holiday.txt'), 'utf8')).toBe('photos');
  });

  test('damaged data is named as such, in one line', async () => {
    useHome();
    const server = await start();
    await stop(server);
    await rm(join(server.directory, 'data', 'global', 'pg_control'));
    const failure = await start().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'DATA_DIRECTORY_CORRUPT' });
    expect(String(failure)).not.toContain('\n');
  });

  test('a lost password file is named, instead of a server that nobody can use', async () => {
    useHome();
    const server = await start();
    await stop(server);
    await rm(join(server.directory, 'password'));
    await expect(start()).rejects.toMatchObject({ code: 'PASSWORD_MISMATCH' });
  });

  test('a home that is a file is refused', async () => {
    await writeFile(home, '');
    await expect(start()).rejects.toMatchObject({ code: 'HOME_UNUSABLE', message: expect.stringContaining(home) });
  });
});

describe.runIf(isRoot)('as root', () => {
  let closed: string;
  let relocated: string | undefined;

  beforeAll(async () => {
    closed = await mkdtemp(join(tmpdir(), 'rondo-closed-'));
  });
  afterAll(async () => {
    await rm(closed, { recursive: true, force: true });
    if (relocated !== undefined) await rm(relocated, { recursive: true, force: true });
  });

  test('the server runs as an unprivileged user, who owns the data', async () => {
    useHome();
    const server = await start();
    expect((await stat(join(server.directory, 'data'))).uid).toBe(65_534);
    expect((await stat(`/proc/${await postmasterPid(server)}`)).uid).toBe(65_534);
  });

  test('a home that this user cannot enter names another folder for the data, and finds it again', async () => {
    const first = await start({ home: join(closed, 'home') });
    relocated = first.directory;
    expect(relocated.startsWith('/var/tmp/rondo-')).toBe(true);
    expect((await stat(relocated)).mode & 0o077).toBe(0);
    await query(first.url, 'create table kept as select 7 as value');
    await stop(first);
    const second = await start({ home: join(closed, 'home') });
    expect(await query(second.url, 'select value from kept')).toEqual([{ value: 7 }]);
  });
});
