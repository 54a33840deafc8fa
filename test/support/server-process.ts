/** A real server in a process of its own, to be killed by tests. Nothing here needs vitest. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const READY_MS_MAX = 60_000;
const OUTPUT_CHARS_MAX = 20_000;

/** `rondo dev` in a home of its own, on a port that stays its own over every restart. */
export class ServerProcess {
  readonly url: string;
  private readonly home: string;
  private readonly port: number;
  private child: ChildProcess | undefined;
  private said = '';

  private constructor(home: string, port: number) {
    this.home = home;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async create(): Promise<ServerProcess> {
    const home = await mkdtemp(join(tmpdir(), 'rondo-kill-'));
    // mkdtemp closes the folder to others, and root's PostgreSQL runs as another user. The data stays closed.
    await chmod(home, 0o755);
    return new ServerProcess(home, await freePort());
  }

  /** Starts it, again after a kill, and waits until it says that it is ready. */
  async start(): Promise<void> {
    // An empty DATABASE_URL counts as none: it may name the server of the other tests, and this one kills its own.
    const own = { PORT: String(this.port), RONDO_HOME: this.home, RONDO_LOG_LEVEL: 'warn', DATABASE_URL: '' };
    const environment = { ...process.env, ...own };
    const child = spawn(process.execPath, ['src/main.ts', 'dev'], { cwd: ROOT, env: environment });
    this.child = child;
    const note = (text: string): void => {
      this.said = `${this.said}${text}`.slice(-OUTPUT_CHARS_MAX);
    };
    child.stderr.on('data', (chunk: Buffer) => note(chunk.toString()));
    await new Promise<void>((resolve, reject) => {
      const tooLate = setTimeout(() => reject(new Error(`not ready in time:\n${this.said}`)), READY_MS_MAX);
      child.once('exit', (code, signal) => reject(new Error(`ended with ${code ?? signal}:\n${this.said}`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        note(`${line}\n`);
        if (!line.startsWith('Rondo is ready')) return;
        clearTimeout(tooLate);
        resolve();
      });
    });
  }

  /** What it wrote last. */
  get output(): string {
    return this.said;
  }

  /** Kills the server as a crash would. Its PostgreSQL lives on. */
  async kill(): Promise<void> {
    const child = this.child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) throw new Error('it does not run');
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Kills PostgreSQL's first process; the others end when they notice. */
  async killPostgres(): Promise<void> {
    const pid = await this.postmasterPid();
    process.kill(pid, 'SIGKILL');
    await eventually('another postmaster runs', async () => {
      const now = await this.postmasterPid().catch(() => pid);
      return now !== pid;
    });
  }

  private async postmasterPid(): Promise<number> {
    const [line = ''] = (await readFile(join(this.home, 'postgres/data/postmaster.pid'), 'utf8')).split('\n');
    const pid = Number(line);
    if (!Number.isInteger(pid) || pid <= 1) throw new Error(`no pid: ${line}`);
    return pid;
  }

  /** Where its database is, for checks that must not ask the server itself. */
  async databaseUrl(): Promise<string> {
    const read = async (name: string) => (await readFile(join(this.home, 'postgres', name), 'utf8')).trim();
    return `postgres://rondo:${await read('password')}@127.0.0.1:${await read('port')}/rondo`;
  }

  /** Ends it in order, PostgreSQL included, and removes its files. */
  async destroy(): Promise<void> {
    const child = this.child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) await this.start();
    const last = this.child;
    if (last !== undefined) {
      const exited = once(last, 'exit');
      last.kill('SIGTERM');
      await exited;
    }
    await rm(this.home, { recursive: true, force: true });
  }
}
