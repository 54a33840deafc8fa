import { randomUUID } from 'node:crypto';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import type { WakeTopic } from '../../ports/wake-signal.ts';
import { HINT_TOPICS_MAX, parsePayload, payloadsOf } from './hint-payload.ts';
import type { WakeHub } from './wake-hub.ts';

const CHANNEL = 'rondo_wake';
/** A commit that notifies takes a lock of the whole database, so there is at most one in this time. */
const NOTIFY_INTERVAL_MS = 7;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 10_000;
const RECONNECT_DELAY_MS = 100;
const RECONNECT_DELAY_MAX_MS = 5_000;

/** This process among those that hint at each other: one connection of its own that listens, and sends what is coalesced. */
export class HintPeer {
  readonly #id = randomUUID();
  readonly #url: string;
  readonly #hub: WakeHub;
  readonly #log: (message: string) => void;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  readonly #pending = new Set<WakeTopic>();
  #sending = false;
  #client: pg.Client | undefined;
  #listening = Promise.withResolvers<void>();

  constructor(url: string, hub: WakeHub, log: (message: string) => void) {
    this.#url = url;
    this.#hub = hub;
    this.#log = log;
    this.#running = this.#run();
  }

  /** Tells the others, soon. What cannot be sent now is kept, within bounds, until it can. */
  hint(topics: readonly WakeTopic[]): void {
    for (const topic of topics) if (this.#pending.size <= HINT_TOPICS_MAX) this.#pending.add(topic);
    if (this.#pending.size > 0 && !this.#sending && this.#client !== undefined) void this.#sendPending();
  }

  whenListening(): Promise<void> {
    return this.#listening.promise;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client?.end().catch(() => undefined);
    await this.#running;
  }

  async #sendPending(): Promise<void> {
    this.#sending = true;
    try {
      while (this.#pending.size > 0 && this.#client !== undefined) {
        await nextTurn();
        const payloads = payloadsOf(this.#id, [...this.#pending]);
        this.#pending.clear();
        await this.#client?.query({
          name: 'hints_send',
          text: `select pg_notify('${CHANNEL}', payload) from unnest($1::text[]) as payload`,
          values: [payloads],
        });
        await delay(NOTIFY_INTERVAL_MS, undefined, { ref: false });
      }
    } catch (error) {
      this.#log(`hints to other processes were lost: ${String(error)}`);
    } finally {
      this.#sending = false;
    }
  }

  #receive(payload: string | undefined): void {
    const hint = parsePayload(payload ?? '');
    if (hint === undefined || hint.from === this.#id) return;
    if (hint.all === true) this.#hub.wakeAll();
    else this.#hub.wake(hint.topics);
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#closing.signal.aborted; failures += 1) {
      try {
        await this.#listenOnce(() => {
          failures = 0;
        });
      } catch (error) {
        this.#log(`not listening for hints: ${String(error)}`);
      }
      await this.#pauseBeforeReconnect(failures);
    }
  }

  async #pauseBeforeReconnect(failures: number): Promise<void> {
    const longest = Math.min(RECONNECT_DELAY_MAX_MS, RECONNECT_DELAY_MS * 2 ** Math.min(failures, 16));
    const options = { signal: this.#closing.signal, ref: false };
    await delay(longest * (0.5 + Math.random() / 2), undefined, options).catch(() => undefined);
  }

  /** Listens until the connection ends. What was sent while nobody listened is lost, so everybody is woken first. */
  async #listenOnce(onListening: () => void): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      application_name: 'rondo hints',
    });
    const ended = new Promise<void>((resolve) => {
      client.once('end', resolve);
      client.on('error', () => resolve());
    });
    client.on('notification', ({ payload }) => this.#receive(payload));
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      if (this.#closing.signal.aborted) return;
      this.#client = client;
      onListening();
      this.#hub.wakeAll();
      this.#listening.resolve();
      this.hint([]);
      await ended;
    } finally {
      if (this.#client === client) this.#listening = Promise.withResolvers<void>();
      this.#client = undefined;
      await client.end().catch(() => undefined);
    }
  }
}
