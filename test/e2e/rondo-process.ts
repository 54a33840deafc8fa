import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The first start unpacks a PostgreSQL and makes its data. */
const READY_MS_MAX = 120_000;

export type Finished = Readonly<{ exitCode: number | null; out: string; err: string }>;

type Started = Readonly<{ url: string; environment: NodeJS.ProcessEnv; stop(): Promise<void> }>;

/** Starts `rondo dev` in a home of its own and waits for the line that says it is ready. */
export const startRondo = async (): Promise<Started> => {
  const home = await mkdtemp(join(tmpdir(), 'rondo-e2e-'));
  const environment = { ...process.env, PORT: String(await freePort()), RONDO_HOME: home };
  const child = spawn(process.execPath, ['src/main.ts', 'dev'], { cwd: ROOT, env: environment });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await rm(home, { recursive: true, force: true });
  };
  try {
    const url = await readyUrl(child);
    return { url, environment: { ...environment, RONDO_URL: url }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

const readyUrl = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.once('exit', (code) => reject(new Error(`rondo dev ended with ${code} before it was ready:\n${said}`)));
    const tooLate = setTimeout(() => reject(new Error(`rondo dev was not ready in time:\n${said}`)), READY_MS_MAX);
    child.once('exit', () => clearTimeout(tooLate));
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      said += `${line}\n`;
      const ready = /Rondo is ready at (http:\/\/127\.0\.0\.1:\d+)/.exec(line);
      if (ready?.[1] === undefined) return;
      clearTimeout(tooLate);
      resolve(ready[1]);
    });
  });

/** Runs a program to its end, or until the signal aborts. */
export const run = async (
  command: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal = new AbortController().signal,
): Promise<Finished> => {
  const child = spawn(command, args, { cwd: ROOT, env: environment });
  signal.addEventListener('abort', () => child.kill(), { once: true });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, out, err };
};
