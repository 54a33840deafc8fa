import type { Chance } from '../support/chance.ts';
import { createFakeIds } from '../support/fake-ids.ts';
import type { Violations } from './checkers/violation.ts';
import type { Call } from './clients.ts';
import type { FaultPlan } from './faults.ts';
import type { Config } from './generator.ts';
import type { Plant } from './plants.ts';
import type { Scheduler } from './scheduler.ts';
import { bootServer, type Server } from './server.ts';
import type { Database } from './store/database.ts';
import type { createDefinitions } from './store/definitions.ts';

export const HOUR_MS = 3_600_000;
const HINTS_MAX = 50;

const LOOP_OF_TOPIC: Readonly<Record<string, string>> = {
  evaluations: 'evaluate',
  timers: 'deadlines',
  outbox: 'relay-outbox',
  system: 'system-tasks',
  admissions: 'admit-executions',
};

export type ClusterOptions = Readonly<{
  config: Config;
  plant: Plant | undefined;
  database: Database;
  scheduler: Scheduler;
  definitions: ReturnType<typeof createDefinitions>;
  faults: FaultPlan;
  chance: Chance;
  violations: Violations;
  /** What the world came by. */
  sometimes: Set<string>;
}>;

export type Hint = Readonly<{ server: Server; loop: string }>;

/** The servers of a world: what they are called for, and what becomes of them. */
export class Cluster {
  readonly servers: Server[] = [];
  private readonly options: ClusterOptions;
  private readonly ids = createFakeIds();
  private readonly clockOffsets: number[] = [];
  private readonly hinted: Hint[] = [];
  private readonly inFlight = new Map<Server, number>();

  constructor(options: ClusterOptions) {
    this.options = options;
    for (let index = 0; index < options.config.servers; index += 1) this.boot(index);
  }

  /** The same one each time for the same number. */
  at(index: number): Server {
    const server = this.servers[index % this.servers.length];
    if (server === undefined) throw new Error('there is no server');
    return server;
  }

  private boot(index: number): void {
    const { config, database, definitions, plant } = this.options;
    this.clockOffsets[index] ??= 0;
    const server: Server = bootServer({
      name: `server-${index}`,
      database,
      definitions: definitions.definitions,
      limits: definitions.limits,
      connections: config.connections,
      foldCacheBytes: config.foldCacheBytes,
      stepsOnReport: config.stepsOnReport,
      ids: this.ids,
      plant,
      clockOffsetMs: () => this.clockOffsets[index] ?? 0,
      onHint: (topic) => this.hint(server, topic),
      onProblem: (message, error) => this.problem(message, error),
    });
    this.servers[index] = server;
    this.inFlight.set(server, 0);
  }

  /** A hint wakes a loop, is lost, or comes twice. */
  private hint(server: Server, topic: string): void {
    const { faults } = this.options;
    const loop = LOOP_OF_TOPIC[topic];
    if (loop === undefined || faults.happens('hint-lost')) return;
    if (this.hinted.length < HINTS_MAX) this.hinted.push({ server, loop });
    if (faults.happens('hint-repeated')) this.hinted.push({ server, loop });
  }

  /** The last hint that was given; one to a dead server wakes nobody. */
  takeHint(): Hint | undefined {
    const hint = this.hinted.pop();
    return hint === undefined || hint.server.process.isDead ? undefined : hint;
  }

  private problem(message: string, error: unknown): void {
    if (message.startsWith('a stuck execution')) this.options.violations.add('21', message);
    else this.failed(message.startsWith('a loop') ? 'loop' : 'pass', error);
  }

  /** A server may be out of reach of its database. Anything else that is thrown is a defect. */
  private failed(what: string, error: unknown): void {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'UNAVAILABLE') this.options.sometimes.add(`${what} failed`);
    else this.options.violations.add('defect', `${what}: ${error instanceof Error ? error.stack : String(error)}`);
  }

  readonly call: Call = (server, what, work, then, otherwise) => {
    this.inFlight.set(server, (this.inFlight.get(server) ?? 0) + 1);
    const done = () => this.inFlight.set(server, (this.inFlight.get(server) ?? 1) - 1);
    work()
      .then(
        (answer) => {
          if (!server.process.isDead) then(answer);
        },
        (error: unknown) => {
          otherwise?.();
          this.failed(what, error);
        },
      )
      .finally(done);
  };

  /** One turn of a loop of this server, unless one is under way. */
  turn(server: Server, name: string): void {
    const loop = server.loops.get(name);
    if (loop === undefined || server.turning.has(name)) return;
    server.turning.add(name);
    const work = async () => {
      loop.start();
      await loop.stop();
    };
    const done = () => {
      server.turning.delete(name);
    };
    this.call(server, name, work, done, done);
  }

  /** Calls under way. */
  get flights(): number {
    let flights = 0;
    for (const [server, count] of this.inFlight) if (!server.process.isDead) flights += count;
    return flights;
  }

  isFrozen(server: Server): boolean {
    return server.process.frozenUntilStep > this.options.scheduler.steps;
  }

  /** Calls are under way and none of them can go on. */
  checkHang(): void {
    if (this.servers.some((server) => this.isFrozen(server))) return;
    const { database, violations } = this.options;
    const open = this.servers.flatMap(({ process }) => database.openOf(process));
    const stands = open.map((tx) => `[${tx.statements.join(' ')}]`).join(' ');
    violations.add('hang', `calls are under way and none can go on: ${stands}`);
  }

  /** What may go wrong with one of them at this step. True: a server died, and whoever talked to it has no answer. */
  disturb(): boolean {
    const { chance, faults } = this.options;
    const index = Math.floor(chance.next() * this.servers.length);
    const server = this.at(index);
    let hasDied = false;
    // Once for so many steps, whatever the rate: a crash at every step would let nothing happen.
    if (chance.isBelow(0.3) && faults.happens('server-crash')) hasDied = this.crash(index);
    else if (chance.isBelow(0.3) && faults.happens('server-freeze')) this.freeze(server);
    if (chance.isBelow(0.3) && faults.happens('clock-step')) {
      this.clockOffsets[index] = chance.pick([0, HOUR_MS, -HOUR_MS, 5, -5]);
    }
    return hasDied;
  }

  private crash(index: number): true {
    const { database, scheduler } = this.options;
    const server = this.at(index);
    server.process.isDead = true;
    database.disconnect(server.process);
    scheduler.forget(server.process);
    this.inFlight.delete(server);
    this.boot(index);
    return true;
  }

  private freeze(server: Server): void {
    const { database, scheduler, chance, faults } = this.options;
    server.process.frozenUntilStep = scheduler.steps + chance.pick([10, 50, 200]);
    if (!faults.happens('frozen-cut')) return;
    for (const tx of database.openOf(server.process)) database.cut(tx);
  }

  heal(): void {
    for (const { process } of this.servers) process.frozenUntilStep = 0;
    this.clockOffsets.fill(0);
  }
}
