import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { ensureServer, maintenanceAddress, type ServerContext } from './ensure-server.ts';
import { type Ownership, takeOwnership } from './ownership.ts';
import { stopServer } from './server-process.ts';

const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX = 5_000;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Keeps an owned server running on its port until it is told to stop it. */
export class Supervisor {
  readonly #context: ServerContext;
  readonly #home: string;
  readonly #port: number;
  readonly #stopping = new AbortController();
  #ownership: Ownership | undefined;
  #watching: Promise<void>;
  #stopped: Promise<void> | undefined;

  constructor(context: ServerContext, home: string, port: number, ownership: Ownership) {
    this.#context = context;
    this.#home = home;
    this.#port = port;
    this.#ownership = ownership;
    this.#watching = this.#watch();
  }

  /** Stops the server for good. Errors: STOP_FAILED. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    // The lock is held until the server ends, so a process that starts meanwhile waits instead of losing its server.
    if (this.#ownership !== undefined) await stopServer(this.#context.cluster, this.#context.binaries);
    await this.#watching;
  }

  async #watch(): Promise<void> {
    while (this.#ownership !== undefined) {
      await this.#ownership.lost;
      if (this.#stopping.signal.aborted) return;
      this.#context.log('the connection to PostgreSQL broke: making sure that it runs');
      this.#ownership = await this.#recover();
    }
  }

  /** Tries until the server runs and is owned again, or nothing is left to do. */
  async #recover(): Promise<Ownership | undefined> {
    for (let backoffMs = BACKOFF_MS_MIN; ; backoffMs = Math.min(backoffMs * 2, BACKOFF_MS_MAX)) {
      try {
        const { port, reused } = await ensureServer(this.#context, this.#port);
        const ownership = await takeOwnership(maintenanceAddress(this.#context, port), this.#home);
        this.#context.log(reused ? 'PostgreSQL answers again' : `PostgreSQL was started again on port ${port}`);
        return ownership;
      } catch (error) {
        if (this.#stopping.signal.aborted) return undefined;
        this.#context.log(`PostgreSQL is not back yet: ${messageOf(error)}`);
        if (error instanceof EmbeddedPostgresError && error.code === 'HOME_IN_USE') return undefined;
      }
      await delay(backoffMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }
}
