import { isClosedExecution } from '../../src/domain/execution/statuses.ts';
import { keyOf } from '../../src/domain/execution/task-key.ts';
import type { ExecutionId, Instant } from '../../src/domain/kernel/brand.ts';
import { Chance } from '../support/chance.ts';
import { createFakeIds } from '../support/fake-ids.ts';
import { checkEnd } from './checkers/end.ts';
import { Intents, LeaseWatch } from './checkers/lease-watch.ts';
import { OutboxWatch } from './checkers/outbox-watch.ts';
import { type Coverage, RunWatch } from './checkers/run-watch.ts';
import { type Violation, Violations } from './checkers/violation.ts';
import { type Call, createWorker, NAMESPACE, type SimulatedWorker, Starts, Workers } from './clients.ts';
import { type Fault, FaultPlan } from './faults.ts';
import { type Config, drawWorkflow, failureWorkflow, QUEUES, type Workflow } from './generator.ts';
import type { Plant } from './plants.ts';
import { Scheduler } from './scheduler.ts';
import { bootServer, type Server } from './server.ts';
import { type Change, Database } from './store/database.ts';
import { createDefinitions } from './store/definitions.ts';
import type { QueueRow } from './store/rows.ts';
import { VirtualTimers } from './virtual-timers.ts';

/** Steps in which everything must have come to its end once the trouble is over. */
export const HEALING_STEPS_MAX = 5_000;
const START_AT = Date.UTC(2030, 0, 1);
const IN_FLIGHT_MAX = 12;
const RUNS_MAX = 8;
const HOUR_MS = 3_600_000;

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
  private readonly plant: Plant | undefined;
  private readonly scheduler: Scheduler;
  private readonly database: Database;
  private readonly timers: VirtualTimers;
  private readonly faults: FaultPlan;
  private readonly violations: Violations;
  private readonly chance: Chance;
  private readonly ids = createFakeIds();
  private readonly coverage: Coverage = new Map();
  private readonly watches = new Map<string, RunWatch>();
  private readonly intents = new Intents();
  private readonly leaseWatch: LeaseWatch;
  private readonly outboxWatch: OutboxWatch;
  private readonly workers: readonly SimulatedWorker[];
  private readonly clients: Workers;
  private readonly starts: Starts;
  private readonly definitions: ReturnType<typeof createDefinitions>;
  /** The last is the one that failures start. */
  private readonly workflows: Workflow[] = [];
  private readonly drawing: Chance;
  private readonly servers: Server[] = [];
  private readonly clockOffsets: number[] = [];
  private readonly hinted: { server: Server; loop: string }[] = [];
  private readonly sometimes = new Set<string>();
  private inFlight = new Map<Server, number>();
  private started = 0;
  private trace = 0;
  private isHealing = false;

  constructor(config: Config, plant?: Plant) {
    this.config = config;
    this.plant = plant;
    const root = new Chance(config.seed);
    const next = () => new Chance(Math.floor(root.next() * 2 ** 31));
    this.scheduler = new Scheduler(next());
    this.faults = new FaultPlan(config.faults, next());
    this.chance = next();
    this.violations = new Violations(() => this.scheduler.steps);
    const hooks = {
      fault: (label: string) => this.faults.ofStatement(label),
      sqlstate: () => this.faults.sqlstate(),
      committed: (changes: readonly Change[]) => this.committed(changes),
      deadlocked: (text: string) => this.violations.add('deadlock', text),
    };
    const options = { scheduler: this.scheduler, chance: next(), hooks, rowPointShare: config.rowPointShare };
    this.database = new Database({ ...options, startAt: START_AT });
    this.timers = new VirtualTimers(() => this.database.now(), this.scheduler);
    const now = () => this.database.now() as Instant;
    this.definitions = createDefinitions({ now, monotonicMs: now });
    this.drawing = next();
    this.leaseWatch = new LeaseWatch(this.database, this.intents, this.violations, this.definitions.limits);
    this.outboxWatch = new OutboxWatch(this.database, this.violations);
    this.workers = Array.from({ length: config.workers }, (_, index) => createWorker(`worker-${index}`));
    this.starts = new Starts(this.violations);
    const { chance, faults, intents, violations } = this;
    this.clients = new Workers({ chance, faults, intents, violations, call: this.call });
  }

  async run(): Promise<WorldResult> {
    const restore = this.timers.install();
    try {
      for (let index = 0; index < this.config.servers; index += 1) this.boot(index);
      await this.register();
      while (this.scheduler.steps < this.config.steps && this.isWell) await this.tick();
      if (this.isWell) await this.heal();
    } finally {
      restore();
    }
    const { config, coverage, sometimes, trace } = this;
    const { found } = this.violations;
    return {
      config,
      steps: this.scheduler.steps,
      violations: found,
      coverage,
      fired: this.faults.fired,
      sometimes,
      trace,
    };
  }

  private get isWell(): boolean {
    return this.violations.found.length === 0;
  }

  private boot(index: number): void {
    this.clockOffsets[index] ??= 0;
    const server: Server = bootServer({
      name: `server-${index}`,
      database: this.database,
      definitions: this.definitions.definitions,
      limits: this.definitions.limits,
      connections: this.config.connections,
      foldCacheBytes: this.config.foldCacheBytes,
      stepsOnReport: this.config.stepsOnReport,
      ids: this.ids,
      plant: this.plant,
      clockOffsetMs: () => this.clockOffsets[index] ?? 0,
      onHint: (topic) => this.hint(server, topic),
      onProblem: (message, error) => this.problem(message, error),
    });
    this.servers[index] = server;
    this.inFlight.set(server, 0);
  }

  private async register(): Promise<void> {
    const [server] = this.servers;
    if (server === undefined) throw new Error('there is no server');
    const { definitions } = server.useCases;
    for (const name of QUEUES) {
      // A budget is over all runs: what is expected of a run must not depend on what the others did.
      const limit = name === 'narrow' ? this.config.limit : 0;
      const task = { name, retryBudget: 1, concurrentExecLimit: limit };
      const registeredTask = await definitions.registerTask(NAMESPACE, task, 'v1');
      if (!registeredTask.ok) throw new Error(JSON.stringify(registeredTask.error));
    }
    while (this.workflows.length < this.config.programs) {
      const workflow = drawWorkflow(this.config, this.workflows.length, this.drawing);
      const registered = await definitions.registerWorkflow(NAMESPACE, workflow.document, 'v1', true);
      if (registered.ok) this.workflows.push(workflow);
    }
    const last = failureWorkflow();
    const registered = await definitions.registerWorkflow(NAMESPACE, last.document, 'v1', true);
    if (!registered.ok) throw new Error(JSON.stringify(registered.error));
    this.workflows.push(last);
  }

  /** A hint wakes a loop, is lost, or comes twice. */
  private hint(server: Server, topic: string): void {
    const loop = LOOP_OF_TOPIC[topic];
    if (loop === undefined || this.faults.happens('hint-lost')) return;
    if (this.hinted.length < 50) this.hinted.push({ server, loop });
    if (this.faults.happens('hint-repeated')) this.hinted.push({ server, loop });
  }

  private problem(message: string, error: unknown): void {
    if (message.startsWith('a stuck execution')) this.violations.add('21', message);
    else this.failed(message.startsWith('a loop') ? 'loop' : 'pass', error);
  }

  /** A server may be out of reach of its database. Anything else that is thrown is a defect. */
  private failed(what: string, error: unknown): void {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'UNAVAILABLE') this.sometimes.add(`${what} failed`);
    else this.violations.add('defect', `${what}: ${error instanceof Error ? error.stack : String(error)}`);
  }

  private readonly call: Call = (server, what, work, then, otherwise) => {
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

  private committed(changes: readonly Change[]): void {
    const runs = new Set<string>();
    for (const { table, run, before, after } of changes) {
      runs.add(run);
      if (table === 'task_queue') {
        if (after !== undefined) this.leaseWatch.changed(before as QueueRow | undefined, after as QueueRow);
        else this.leaseWatch.gone(before as QueueRow);
      }
      if (table === 'outbox_events') this.outboxWatch.changed(before as never, after as never);
    }
    // A report that is taken and closed in one commit.
    const isStep = changes.some(({ table, before, after }) => {
      const row = before as QueueRow | undefined;
      return (
        table === 'task_queue' && after === undefined && row?.leaseToken !== undefined && row.outcome === undefined
      );
    });
    if (isStep) this.sometimes.add('short road taken');
    for (const run of runs) this.watch(run).check();
  }

  private watch(run: string): RunWatch {
    const known = this.watches.get(run);
    if (known !== undefined) return known;
    const made = new RunWatch(run as ExecutionId, this.database, this.violations, this.coverage);
    this.watches.set(run, made);
    return made;
  }

  private async tick(): Promise<void> {
    const { chance } = this;
    this.scheduler.steps += 1;
    const isBusy = this.flights >= IN_FLIGHT_MAX;
    const label = isBusy || chance.isBelow(this.isHealing ? 0.8 : 0.75) ? this.scheduler.letOneThrough() : undefined;
    if (label !== undefined) this.note(label);
    else if (!isBusy) this.act();
    else {
      // Nobody can go on but those who stand still until a later step.
      if (this.servers.every(({ process }) => process.frozenUntilStep <= this.scheduler.steps)) this.checkHang();
    }
    await this.scheduler.settle();
    this.disturb();
  }

  private checkHang(): void {
    const open = this.servers.flatMap(({ process }) => this.database.openOf(process));
    const stands = open.map((tx) => `[${tx.statements.join(' ')}]`).join(' ');
    this.violations.add('hang', `calls are under way and none can go on: ${stands}`);
  }

  private note(label: string): void {
    for (let index = 0; index < label.length; index += 1) {
      this.trace = (Math.imul(this.trace, 31) + label.charCodeAt(index)) | 0;
    }
    this.trace = (this.trace + this.scheduler.steps) | 0;
  }

  private get flights(): number {
    let flights = 0;
    for (const [server, count] of this.inFlight) if (!server.process.isDead) flights += count;
    return flights;
  }

  private disturb(): void {
    if (this.isHealing) return;
    if (this.chance.isBelow(0.04)) this.passTime();
    const index = Math.floor(this.chance.next() * this.servers.length);
    const server = this.servers[index];
    if (server === undefined) return;
    // Once for so many steps, whatever the rate: a crash at every step would let nothing happen.
    if (this.chance.isBelow(0.3) && this.faults.happens('server-crash')) this.crash(index);
    else if (this.chance.isBelow(0.3) && this.faults.happens('server-freeze')) this.freeze(server);
    if (this.chance.isBelow(0.3) && this.faults.happens('clock-step')) {
      this.clockOffsets[index] = this.chance.pick([0, HOUR_MS, -HOUR_MS, 5, -5]);
    }
    if (this.chance.isBelow(0.2) && this.faults.happens('worker-crash')) {
      const worker = this.chance.pick(this.workers);
      worker.forgotten.push(...worker.held.splice(0));
      worker.isPolling = false;
    }
  }

  private crash(index: number): void {
    const server = this.servers[index];
    if (server === undefined) return;
    server.process.isDead = true;
    this.database.disconnect(server.process);
    this.scheduler.forget(server.process);
    this.inFlight.delete(server);
    for (const worker of this.workers) worker.isPolling = false;
    this.boot(index);
  }

  private freeze(server: Server): void {
    server.process.frozenUntilStep = this.scheduler.steps + this.chance.pick([10, 50, 200]);
    if (!this.faults.happens('frozen-cut')) return;
    for (const tx of this.database.openOf(server.process)) this.database.cut(tx);
  }

  /** Moments at which something comes due. */
  private dueTimes(): readonly number[] {
    const { decideQueue, timers, taskQueue, outbox } = this.database.tables;
    const now = this.database.now();
    const due: number[] = [];
    const add = (at: number | undefined) => {
      if (at !== undefined && at > now) due.push(at);
    };
    for (const row of decideQueue.committed()) add(row.dueAt);
    for (const row of timers.committed()) add(row.fireAt);
    for (const row of outbox.committed()) if (row.deadAt === undefined) add(row.availableAt);
    for (const row of taskQueue.committed()) {
      if (row.outcome !== undefined) continue;
      add(row.visibleAt);
      add(row.leaseExpiresAt);
    }
    add(this.timers.nextAt());
    return due.sort((a, b) => a - b);
  }

  /** Mostly to the very moment at which something is due, or a millisecond to either side. */
  private passTime(): void {
    const { chance } = this;
    const due = this.dueTimes();
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
    const { chance } = this;
    const server = chance.pick(this.servers);
    if (server.process.frozenUntilStep > this.scheduler.steps && !this.isHealing) return;
    if (this.isHealing) return this.actToHeal(server);
    if (this.started < this.config.runs && chance.isBelow(0.3)) return this.start(server);
    if (this.faults.happens('operator')) return this.operate(server);
    this.doUsual(server);
  }

  private doUsual(server: Server): void {
    const { chance } = this;
    const worker = chance.pick(this.workers);
    // A worker mostly talks to one server: only there its reports can take the short road.
    const home = chance.isBelow(0.7) ? this.homeOf(worker) : server;
    if (worker.held.length > 0 && chance.isBelow(0.5)) return this.clients.work(home, worker, this.isHealing);
    const hint = this.hinted.pop();
    const isWanted = hint !== undefined && !(this.config.isRelaySlow && hint.loop === 'relay-outbox');
    if (isWanted && !hint.server.process.isDead) return this.turn(hint.server, hint.loop);
    // Mostly what has something to do, now and then what has not.
    const due = chance.isBelow(0.85) ? this.whatIsDue() : [];
    const next = due.length > 0 ? chance.pick(due) : chance.pick(this.config.isRelaySlow ? OTHERS : ANYTHING);
    if (next === 'poll') {
      if (!worker.isPolling) this.clients.poll(home, worker, this.isHealing);
    } else if (next === 'work') this.clients.work(home, worker, this.isHealing);
    else this.turn(server, next);
  }

  private homeOf(worker: SimulatedWorker): Server {
    const server = this.servers[this.workers.indexOf(worker) % this.servers.length] ?? this.servers[0];
    if (server === undefined) throw new Error('there is no server');
    return server;
  }

  /** Loops and polls that would find something now. */
  private whatIsDue(): readonly string[] {
    const { chance } = this;
    const { decideQueue, timers, taskQueue, outbox } = this.database.tables;
    const now = this.database.now();
    const due: string[] = [];
    for (const row of decideQueue.committed()) if (row.dueAt <= now) due.push('evaluate');
    for (const row of timers.committed()) if (row.fireAt <= now) due.push('deadlines');
    const relays = !this.config.isRelaySlow || chance.isBelow(0.05);
    for (const row of outbox.committed()) if (relays && row.availableAt <= now) due.push('relay-outbox');
    for (const row of taskQueue.committed()) {
      if (row.outcome !== undefined) continue;
      if ((row.leaseExpiresAt ?? Number.POSITIVE_INFINITY) <= now) due.push('deadlines');
      if (row.leaseToken !== undefined || row.visibleAt > now) continue;
      if (row.task.family === 'system') due.push('system-tasks');
      if (row.task.family === 'worker') due.push('poll');
    }
    return due;
  }

  /** One turn of a loop of this server, unless one is under way. */
  private turn(server: Server, name: string): void {
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

  private start(server: Server): void {
    const { chance } = this;
    const workflow = this.workflows[Math.floor(chance.next() * (this.workflows.length - 1))];
    if (workflow === undefined) return;
    const key = chance.isBelow(0.5) ? `key-${Math.floor(chance.next() * 3)}-${workflow.name}` : undefined;
    // Two at once under one key, now and then, through two servers.
    const count = key !== undefined && chance.isBelow(0.5) ? 2 : 1;
    for (let each = 0; each < count; each += 1)
      this.startOnce(each === 0 ? server : chance.pick(this.servers), workflow, key);
    this.started += 1;
  }

  private startOnce(server: Server, { name, input }: Workflow, key: string | undefined): void {
    const request = { name, input, priority: 0, idempotencyStrategy: 'RETURN_EXISTING' as const };
    this.call(
      server,
      'start',
      () =>
        server.useCases.executions.start(NAMESPACE, key === undefined ? request : { ...request, idempotencyKey: key }),
      (answer) => {
        if (answer.ok) this.starts.answered(key, answer.value.executionId);
        else if (answer.error.code !== 'UNAVAILABLE')
          this.violations.add('13', `a start was refused: ${answer.error.message}`);
      },
    );
  }

  private get runIds(): readonly ExecutionId[] {
    return [...this.database.tables.executions.committed()].map((row) => row.executionId);
  }

  /** Anything that an operator may ask of a run. */
  private operate(server: Server): void {
    const ids = this.runIds;
    if (ids.length === 0) return;
    const { chance } = this;
    const failed = [...this.database.tables.executions.committed()].filter((row) => row.status === 'FAILED');
    if (failed.length > 0 && ids.length <= RUNS_MAX && chance.isBelow(0.3)) {
      return this.ask(server, chance.pick(failed).executionId, 'retry');
    }
    const id = chance.pick(ids);
    const kind = chance.pick(['pause', 'resume', 'resume', 'terminate', 'retry', 'retry', 'signal', 'decide'] as const);
    // Every retry of a failing run may start a failure workflow more.
    if (kind === 'retry' && ids.length > RUNS_MAX) return;
    this.ask(server, id, kind);
  }

  private ask(
    server: Server,
    id: ExecutionId,
    kind: 'pause' | 'resume' | 'terminate' | 'retry' | 'signal' | 'decide',
  ): void {
    const { executions } = server.useCases;
    const isEarly = kind === 'signal' && !this.isHealing && this.chance.isBelow(0.4);
    const ref = isEarly ? this.anyWait() : this.waitOf(id);
    const work = (): Promise<unknown> => {
      if (kind === 'signal')
        return executions.signal(NAMESPACE, id, { ...ref, status: 'COMPLETED', output: {} }, 'operator');
      if (kind === 'decide') return executions.decide(NAMESPACE, id);
      return executions[kind](NAMESPACE, id, 'operator');
    };
    this.call(server, kind, work, (answer) => {
      const { ok, error } = answer as { ok: boolean; error?: { code: string } };
      this.sometimes.add(`${kind} ${ok ? 'accepted' : error?.code}`);
      if (kind === 'decide' && ok && !this.isHealing) this.sometimes.add('decide asked');
    });
  }

  /** A wait of the run that nothing but a signal ends; else any signal will do. */
  private waitOf(id: ExecutionId): { ref?: string } {
    for (const { event } of this.watch(id).open.values()) {
      if (event.taskType === 'WAIT' && event.fireAt === undefined) return { ref: keyOf(event) };
    }
    return {};
  }

  /** A wait that some program has, open or not: a signal may come before it. */
  private anyWait(): { ref?: string } {
    const refs = JSON.stringify(this.workflows.map(({ document }) => document)).match(/"wait\d+"/g) ?? [];
    return refs.length === 0 ? {} : { ref: this.chance.pick(refs).slice(1, -1) };
  }

  /** The trouble is over: everybody does what is to be done, and everything must come to its end. */
  private async heal(): Promise<void> {
    this.faults.heal();
    this.isHealing = true;
    for (const { process } of this.servers) process.frozenUntilStep = 0;
    this.clockOffsets.fill(0);
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
      watches: this.watches,
      workflows: this.workflows,
      hasFailureWorkflow: this.config.hasFailureWorkflow,
      settled: this.clients.settled,
      acknowledged: this.starts.acknowledged,
    });
  }

  private get isOver(): boolean {
    const { decideQueue, taskQueue, timers, outbox, executions } = this.database.tables;
    for (const table of [decideQueue, taskQueue, timers]) for (const _ of table.committed()) return false;
    for (const row of outbox.committed()) if (row.deadAt === undefined) return false;
    for (const row of executions.committed()) if (!this.hasEnded(row)) return false;
    return true;
  }

  private hasEnded(row: Readonly<{ name: string; status: string }>): boolean {
    const isCalculated = this.workflows.find(({ name }) => name === row.name)?.expected !== undefined;
    return isCalculated ? row.status === 'COMPLETED' : isClosedExecution(row.status as never);
  }

  private leftovers(): string {
    const { decideQueue, taskQueue, timers, outbox, executions } = this.database.tables;
    const counts = [decideQueue, taskQueue, timers, outbox].map(
      (table) => `${table.name} ${[...table.committed()].length}`,
    );
    const runs = [...executions.committed()].filter((row) => !this.hasEnded(row));
    return [...counts, ...runs.map((row) => `${row.executionId} ${row.status} ${row.reason ?? ''}`)].join(', ');
  }

  private actToHeal(server: Server): void {
    const { chance } = this;
    const holder = this.workers.find((worker) => worker.held.length > 0);
    if (holder !== undefined && chance.isBelow(0.6)) return this.clients.work(server, holder, true);
    if (chance.isBelow(0.2)) return this.helpRuns(server);
    // A limit may hold what is ready until a lease ends that nobody reports any more.
    if (this.scheduler.waiting === 0 && (this.isIdle || chance.isBelow(0.05))) return this.passIdleTime(server);
    const worker = chance.pick(this.workers);
    if (chance.isBelow(0.35) && !worker.isPolling) return this.clients.poll(server, worker, this.isHealing);
    const hint = this.hinted.pop();
    if (hint !== undefined && !hint.server.process.isDead) return this.turn(hint.server, hint.loop);
    this.turn(server, chance.pick(LOOPS));
  }

  /** Nothing is due now that a worker or a loop could take. */
  private get isIdle(): boolean {
    const { decideQueue, timers, taskQueue, outbox } = this.database.tables;
    const now = this.database.now();
    for (const row of decideQueue.committed()) if (row.dueAt <= now) return false;
    for (const row of timers.committed()) if (row.fireAt <= now) return false;
    for (const row of outbox.committed()) if (row.deadAt === undefined && row.availableAt <= now) return false;
    for (const row of taskQueue.committed()) {
      // The decide row tells of it, which may be parked.
      if (row.outcome !== undefined) continue;
      if ((row.leaseExpiresAt ?? Number.POSITIVE_INFINITY) <= now) return false;
      if (row.leaseToken === undefined && row.task.family !== 'waiting' && row.visibleAt <= now) return false;
    }
    return true;
  }

  private passIdleTime(server: Server): void {
    const [next] = this.dueTimes();
    if (next !== undefined) this.goTo(next);
    else this.helpRuns(server);
  }

  private helpRuns(server: Server): void {
    const open = [...this.database.tables.executions.committed()].filter((row) => !this.hasEnded(row));
    if (open.length === 0) return;
    const row = this.chance.pick(open);
    if (row.status === 'PAUSED') this.ask(server, row.executionId, 'resume');
    else if (row.status !== 'RUNNING') this.ask(server, row.executionId, 'retry');
    else if (this.waitOf(row.executionId).ref !== undefined) this.ask(server, row.executionId, 'signal');
  }
}

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
] as const;

const ANYTHING: readonly string[] = [...LOOPS, 'poll', 'work'];
const OTHERS: readonly string[] = ANYTHING.filter((name) => name !== 'relay-outbox');

const LOOP_OF_TOPIC: Readonly<Record<string, string>> = {
  evaluations: 'evaluate',
  timers: 'deadlines',
  outbox: 'relay-outbox',
  system: 'system-tasks',
};
