import type { Instant } from '../../src/domain/kernel/brand.ts';
import { Chance } from '../support/chance.ts';
import { dueTimes, isIdle, whatIsDue } from './agenda.ts';
import { Catalogue } from './catalogue.ts';
import { checkEnd } from './checkers/end.ts';
import type { Coverage } from './checkers/run-watch.ts';
import { type Violation, Violations } from './checkers/violation.ts';
import { Watch } from './checkers/watch.ts';
import { createWorker, NAMESPACE, type SimulatedWorker, Starts, Workers } from './clients.ts';
import { Cluster, HOUR_MS } from './cluster.ts';
import { Doors } from './doors.ts';
import { type Fault, FaultPlan } from './faults.ts';
import { type Config, SEMAPHORE } from './generator.ts';
import { Operators } from './operators.ts';
import type { Plant } from './plants.ts';
import { Scheduler } from './scheduler.ts';
import type { Server } from './server.ts';
import { type Change, Database } from './store/database.ts';
import { createDefinitions } from './store/definitions.ts';
import type { QuotaRow } from './store/rows.ts';
import type { Limits } from './store/session.ts';
import { VirtualTimers } from './virtual-timers.ts';

/** Steps in which everything must have come to its end once the trouble is over. */
export const HEALING_STEPS_MAX = 10_000;
const START_AT = Date.UTC(2030, 0, 1);
const IN_FLIGHT_MAX = 12;

export type WorldResult = Readonly<{
  config: Config;
  steps: number;
  violations: readonly Violation[];
  coverage: Coverage;
  fired: Readonly<Record<Fault, number>>;
  /** What the world came by, for those points that some world must reach. */
  sometimes: ReadonlySet<string>;
  /** Differs when anything at all went another way. */
  trace: number;
}>;

/** A cluster of servers over one simulated database, workers and operators around it, and all that may go wrong. */
export class World {
  private readonly config: Config;
  private readonly scheduler: Scheduler;
  private readonly database: Database;
  private readonly timers: VirtualTimers;
  private readonly faults: FaultPlan;
  private readonly violations: Violations;
  private readonly chance: Chance;
  private readonly watch: Watch;
  private readonly workers: readonly SimulatedWorker[];
  private readonly clients: Workers;
  private readonly starts: Starts;
  private readonly operators: Operators;
  private readonly catalogue: Catalogue;
  private readonly limits: Limits;
  private readonly makeCluster: () => Cluster;
  private running: Cluster | undefined;
  private readonly sometimes = new Set<string>();
  private started = 0;
  private trace = 0;
  private isHealing = false;

  constructor(config: Config, plant?: Plant) {
    this.config = config;
    const root = new Chance(config.seed);
    const next = () => new Chance(Math.floor(root.next() * 2 ** 31));
    this.scheduler = new Scheduler(next());
    this.faults = new FaultPlan(config.faults, next());
    this.chance = next();
    this.violations = new Violations(() => this.scheduler.steps);
    const hooks = {
      fault: (label: string) => this.faults.ofStatement(label),
      sqlstate: () => this.faults.sqlstate(),
      committed: (changes: readonly Change[]) => this.watch.committed(changes),
      deadlocked: (text: string) => this.violations.add('deadlock', text),
    };
    const { scheduler, chance, faults, violations, sometimes } = this;
    const options = { scheduler, chance: next(), hooks, rowPointShare: config.rowPointShare };
    this.database = new Database({ ...options, startAt: START_AT });
    this.timers = new VirtualTimers(() => this.database.now(), scheduler);
    const now = () => this.database.now() as Instant;
    const definitions = createDefinitions({ now, monotonicMs: now });
    this.limits = definitions.limits;
    const { database } = this;
    this.catalogue = new Catalogue(config, next());
    const { tasksMax = 0 } = config;
    this.watch = new Watch({ database, violations, sometimes, limits: definitions.limits, tasksMax });
    this.workers = Array.from({ length: config.workers }, (_, index) => createWorker(`worker-${index}`));
    const call: Cluster['call'] = (...args) => this.cluster.call(...args);
    const { quota, strategies } = config;
    const { permits = 0 } = config;
    if (permits > 0) database.tables.semaphores.furnish({ namespace: NAMESPACE, name: SEMAPHORE, permits });
    if (quota > 0) database.tables.quotas.furnish(quotaOf(quota));
    const isLimited = quota > 0 || (config.admission ?? 'none') !== 'none';
    this.starts = new Starts({ chance, violations, call, strategies: strategies ?? ['RETURN_EXISTING'], isLimited });
    this.clients = new Workers({ chance, faults, intents: this.watch.intents, violations, call });
    const { catalogue, watch } = this;
    const seen = { database, catalogue, watch: watch.of, sometimes };
    const doors = new Doors({ chance, faults, call, doorWatch: watch.doors, ...seen });
    this.operators = new Operators({ ...config, ...seen, chance, call, doors });
    this.makeCluster = () =>
      new Cluster({ config, plant, database, scheduler, definitions, faults, chance, violations, sometimes });
  }

  /** Servers begin under virtual time only. */
  private get cluster(): Cluster {
    if (this.running === undefined) throw new Error('no server runs yet');
    return this.running;
  }

  async run(): Promise<WorldResult> {
    const restore = this.timers.install();
    try {
      this.running = this.makeCluster();
      await this.catalogue.register(this.cluster.at(0).useCases.definitions);
      while (this.scheduler.steps < this.config.steps && this.isWell) await this.tick();
      if (this.isWell) await this.heal();
    } finally {
      restore();
    }
    const { config, sometimes, trace } = this;
    return {
      config,
      steps: this.scheduler.steps,
      violations: this.violations.found,
      coverage: this.watch.coverage,
      fired: this.faults.fired,
      sometimes,
      trace,
    };
  }

  private get isWell(): boolean {
    return this.violations.found.length === 0;
  }

  private async tick(): Promise<void> {
    const { chance, cluster } = this;
    this.scheduler.steps += 1;
    const isBusy = cluster.flights >= IN_FLIGHT_MAX;
    const label = isBusy || chance.isBelow(this.isHealing ? 0.8 : 0.75) ? this.scheduler.letOneThrough() : undefined;
    if (label !== undefined) this.note(label);
    else if (!isBusy) this.act();
    // Nobody can go on but those who stand still until a later step.
    else cluster.checkHang();
    await this.scheduler.settle();
    this.disturb();
  }

  private note(label: string): void {
    for (let index = 0; index < label.length; index += 1) {
      this.trace = (Math.imul(this.trace, 31) + label.charCodeAt(index)) | 0;
    }
    this.trace = (this.trace + this.scheduler.steps) | 0;
  }

  private disturb(): void {
    if (this.isHealing) return;
    const { chance, cluster } = this;
    if (chance.isBelow(0.04)) this.passTime();
    if (cluster.disturb()) for (const worker of this.workers) worker.isPolling = false;
    if (!chance.isBelow(0.2) || !this.faults.happens('worker-crash')) return;
    const worker = chance.pick(this.workers);
    worker.forgotten.push(...worker.held.splice(0));
    worker.isPolling = false;
  }

  private get dueTimes(): readonly number[] {
    return dueTimes(this.database, this.timers.nextAt());
  }

  /** Mostly to the very moment at which something is due, or a millisecond to either side. */
  private passTime(): void {
    const { chance } = this;
    const due = this.dueTimes;
    const kind = chance.next();
    const now = this.database.now();
    let until = now + chance.pick([1, 1, 50, 1_000]);
    if (kind < 0.5 && due.length > 0)
      until = (due[Math.floor(chance.next() ** 2 * due.length)] ?? now) + chance.pick([-1, 0, 0, 1]);
    if (kind > 0.99) until = now + HOUR_MS;
    this.goTo(until);
  }

  private goTo(at: number): void {
    if (at > this.database.now()) this.database.advance(at - this.database.now());
    this.timers.runDue();
  }

  private act(): void {
    const { chance, cluster } = this;
    const server = chance.pick(cluster.servers);
    if (cluster.isFrozen(server) && !this.isHealing) return;
    if (this.isHealing) return this.actToHeal(server);
    if (this.started < this.config.runs && chance.isBelow(0.3)) return this.start(server);
    if (this.faults.happens('operator')) return this.operators.operate(server);
    this.doUsual(server);
  }

  private start(server: Server): void {
    this.starts.start(server, this.cluster.servers, this.catalogue.pickProgram(this.chance));
    this.started += 1;
  }

  private doUsual(server: Server): void {
    const { chance, cluster } = this;
    const { isRelaySlow } = this.config;
    const worker = chance.pick(this.workers);
    // A worker mostly talks to one server: only there its reports can take the short road.
    const home = chance.isBelow(0.7) ? cluster.at(this.workers.indexOf(worker)) : server;
    if (worker.held.length > 0 && chance.isBelow(0.5)) return this.clients.work(home, worker, this.isHealing);
    const hint = cluster.takeHint();
    if (hint !== undefined && !(isRelaySlow && hint.loop === 'relay-outbox'))
      return cluster.turn(hint.server, hint.loop);
    // Mostly what has something to do, now and then what has not.
    const relays = !isRelaySlow || chance.isBelow(0.05);
    const due = chance.isBelow(0.85) ? whatIsDue(this.database, relays) : [];
    const next = due.length > 0 ? chance.pick(due) : chance.pick(isRelaySlow ? OTHERS : ANYTHING);
    if (next === 'poll') {
      if (!worker.isPolling) this.clients.poll(home, worker, this.isHealing);
    } else if (next === 'work') this.clients.work(home, worker, this.isHealing);
    else cluster.turn(server, next);
  }

  /** The trouble is over: everybody does what is to be done, and everything must come to its end. */
  private async heal(): Promise<void> {
    this.faults.heal();
    this.isHealing = true;
    this.operators.isHealing = true;
    this.cluster.heal();
    const until = this.scheduler.steps + HEALING_STEPS_MAX;
    while (this.scheduler.steps < until && this.isWell) {
      await this.tick();
      if (this.scheduler.waiting === 0 && this.isOver) break;
    }
    if (!this.isWell) return;
    if (!this.isOver)
      this.violations.add('21', `after ${HEALING_STEPS_MAX} steps there is still work: ${this.leftovers()}`);
    else this.checkEnd();
  }

  private checkEnd(): void {
    checkEnd({
      database: this.database,
      violations: this.violations,
      workflows: this.catalogue.workflows,
      hasFailureWorkflow: this.config.hasFailureWorkflow,
      takesKeys: this.config.strategies?.includes('FAIL_ON_RUNNING') ?? false,
      settled: this.clients.settled,
      acknowledged: this.starts.acknowledged,
    });
    this.watch.doors.checkEnd();
  }

  private get isOver(): boolean {
    const { admissions, decideQueue, taskQueue, timers, outbox } = this.database.tables;
    for (const table of [admissions, decideQueue, taskQueue, timers]) for (const _ of table.committed()) return false;
    for (const row of outbox.committed()) if (row.deadAt === undefined) return false;
    return this.operators.open.length === 0;
  }

  private leftovers(): string {
    const { admissions, decideQueue, taskQueue, timers, outbox } = this.database.tables;
    const counts = [admissions, decideQueue, taskQueue, timers, outbox].map(
      (table) => `${table.name} ${[...table.committed()].length}`,
    );
    const runs = this.operators.open.map((row) => `${row.executionId} ${row.status} ${row.reason ?? ''}`);
    return [...counts, ...runs].join(', ');
  }

  private actToHeal(server: Server): void {
    const { chance, cluster } = this;
    const holder = this.workers.find((worker) => worker.held.length > 0);
    if (holder !== undefined && chance.isBelow(0.6)) return this.clients.work(server, holder, true);
    if (chance.isBelow(0.2)) return this.operators.help(server);
    // A limit may hold what is ready until a lease ends that nobody reports any more.
    if (this.scheduler.waiting === 0 && (isIdle(this.database, this.limits) || chance.isBelow(0.02))) {
      return this.passIdleTime(server);
    }
    const worker = chance.pick(this.workers);
    if (chance.isBelow(0.35) && !worker.isPolling) return this.clients.poll(server, worker, this.isHealing);
    const hint = cluster.takeHint();
    if (hint !== undefined) return cluster.turn(hint.server, hint.loop);
    cluster.turn(server, chance.pick(LOOPS));
  }

  private passIdleTime(server: Server): void {
    const [next] = this.dueTimes;
    // Where only people can go on, deadlines would pass before they had done what is asked of them.
    if (next !== undefined && !this.chance.isBelow(0.9)) this.goTo(next);
    else this.operators.help(server);
  }
}

const quotaOf = (quota: number): QuotaRow => ({
  namespace: NAMESPACE,
  concurrentMax: quota,
  perMinuteMax: quota + 1,
  minute: 0,
  starts: 0,
});

const LOOPS = [
  'evaluate',
  'evaluate',
  'evaluate',
  'deadlines',
  'deadlines',
  'relay-outbox',
  'system-tasks',
  'sweep-stuck',
  'evaluate-overflow',
  'wake-polls',
  'admit-executions',
] as const;

const ANYTHING: readonly string[] = [...LOOPS, 'poll', 'work'];
const OTHERS: readonly string[] = ANYTHING.filter((name) => name !== 'relay-outbox');
