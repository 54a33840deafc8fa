import type { ExecutionId, Instant, Namespace } from '../../../src/domain/kernel/brand.ts';
import type { DefinitionStore } from '../../../src/ports/definition-store.ts';
import type {
  DefinitionReads,
  EngineStore,
  EngineTx,
  ExecutionHead,
  ReportOutcome,
  SteppedRuns,
  TaskReport,
} from '../../../src/ports/engine-store.ts';
import type { Plant } from '../plants.ts';
import type { Process } from '../scheduler.ts';
import type { Database } from './database.ts';
import { isContention, isDefect, isLost, SimulatedDefectError, translate } from './failure.ts';
import { asPort } from './outside-the-model.ts';
import { type OutboxRow, queueKey } from './rows.ts';
import type { Limits, Tx } from './session.ts';
import type { Statement } from './statement.ts';
import { admissible, admissionMethods, limitsStarts } from './statements/admissions.ts';
import { deadlineMethods } from './statements/deadlines.ts';
import { decideQueueMethods } from './statements/decide-queue.ts';
import { holderOf, idempotencyMethods } from './statements/idempotency.ts';
import { hasLimits, isFree, leaseMethods, leaseNext } from './statements/leases.ts';
import { eventMethods, executionMethods } from './statements/log-and-runs.ts';
import { headsOf, isHead, outboxMethods } from './statements/outbox.ts';
import { openLease, putOffMethods } from './statements/put-off.ts';
import { reportMethods, settleReports, wakeLater } from './statements/reports.ts';
import { startRuns } from './statements/run-starts.ts';
import { stepRuns } from './statements/run-steps.ts';
import { taskMethods } from './statements/tasks.ts';
import { waitingMethods } from './statements/waiting.ts';
import type { Transaction } from './transaction.ts';

const ATTEMPTS_MAX = 6;

/** The connections of one server. */
export class Pool {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(size: number) {
    this.free = size;
  }

  async take(): Promise<void> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  giveBack(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}

export type SimulatedStoreOptions = Readonly<{
  database: Database;
  process: Process;
  pool: Pool;
  definitions: DefinitionReads & Pick<DefinitionStore, 'putBundle'>;
  limits: Limits;
  plant?: Plant;
}>;

const newMemory = (): Tx['memory'] => ({ reported: new Map(), reportHashes: new Map() });

const sessionOf = (options: SimulatedStoreOptions, tx: Transaction): Tx & { isFresh: boolean } => {
  const { database, definitions, limits, plant } = options;
  const session: Tx & { isFresh: boolean } = {
    database,
    tx,
    definitions,
    limits,
    plant,
    memory: newMemory(),
    deleteAtEnd: [],
    isFresh: true,
    run: (label, body) => {
      session.isFresh = false;
      return database.run(tx, label, body);
    },
  };
  return session;
};

/** Each statement is a transaction by itself, on whatever connection is free. */
const sessionAlone = (options: SimulatedStoreOptions): Tx => {
  const { database, process, pool, definitions, limits, plant } = options;
  let current: Transaction | undefined;
  return {
    database,
    get tx(): Transaction {
      if (current === undefined) throw new Error('no statement is under way');
      return current;
    },
    definitions,
    limits,
    plant,
    memory: newMemory(),
    deleteAtEnd: [],
    isFresh: false,
    run: async (label, body) => {
      await pool.take();
      const tx = database.begin(process);
      current = tx;
      try {
        const result = await database.run(tx, label, body);
        database.commitAlone(tx);
        return result;
      } finally {
        database.rollback(tx);
        pool.giveBack();
      }
    },
  };
};

const engineTx = (session: Tx): EngineTx =>
  asPort<EngineTx>({
    ...decideQueueMethods(session),
    ...eventMethods(session),
    ...taskMethods(session),
    ...executionMethods(session),
    ...idempotencyMethods(session),
    ...admissionMethods(session),
    ...leaseMethods(session),
    ...putOffMethods(session),
    ...reportMethods(session),
    ...deadlineMethods(session),
    ...outboxMethods(session),
    ...waitingMethods(session),
    findWorkflow: (namespace, name, version) =>
      session.run('find-workflow', () => session.definitions.findWorkflow(namespace, name, version)),
    putBundle: (hash, bundle) => session.run('put-bundle', () => session.definitions.putBundle(hash, bundle)),
    findTasks: (namespace, names) => session.run('find-tasks', () => session.definitions.findTasks(namespace, names)),
    findBundles: (hashes) => session.run('find-bundles', () => session.definitions.findBundles(hashes)),
  });

const deleteClaimed = async (session: Tx): Promise<void> => {
  if (session.deleteAtEnd.length === 0) return;
  await session.run('delete-claimed', async (statement) => {
    for (const id of session.deleteAtEnd) {
      const cell = session.database.tables.decideQueue.find(id);
      if (cell !== undefined && (await statement.lock(cell)) !== undefined) statement.write(cell, undefined);
    }
  });
};

type Attempt<T> = Readonly<{ ok: true; value: T } | { ok: false; error: unknown }>;

const attempt = async <T>(options: SimulatedStoreOptions, work: (tx: EngineTx) => Promise<T>): Promise<Attempt<T>> => {
  const { database, process, pool } = options;
  await pool.take();
  const tx = database.begin(process);
  try {
    const session = sessionOf(options, tx);
    const value = await work(engineTx(session));
    await deleteClaimed(session);
    if ((await database.commit(tx)) === 'ROLLBACK') throw new SimulatedDefectError('a failed statement was ignored');
    // The answer is on its way: a server that dies now has committed and does not know.
    await database.scheduler.point(process, 'committed');
    return { ok: true, value };
  } catch (error) {
    if (options.plant === 'half-commit' && !tx.isOver && !tx.isCut) {
      tx.isAborted = false;
      await database.commit(tx).catch(() => undefined);
    }
    return { ok: false, error };
  } finally {
    database.rollback(tx);
    pool.giveBack();
  }
};

/** As the adapter's helper: rolls back on a throw, runs again after a lost race, tells the rest in the adapter's classes. */
const transaction = async <T>(options: SimulatedStoreOptions, work: (tx: EngineTx) => Promise<T>): Promise<T> => {
  for (let number = 1; ; number += 1) {
    const outcome = await attempt(options, work);
    if (outcome.ok) return outcome.value;
    const isRunAgain = isContention(outcome.error) || (options.plant === 'unknown-retried' && isLost(outcome.error));
    if (number === ATTEMPTS_MAX || !isRunAgain) throw translate(outcome.error);
    await options.database.scheduler.point(options.process, 'again');
  }
};

const alone = async <T>(
  options: SimulatedStoreOptions,
  label: string,
  body: (statement: Statement, session: Tx) => T,
): Promise<T> => {
  const session = sessionAlone(options);
  try {
    return await session.run(label, (statement) => body(statement, session));
  } catch (error) {
    throw translate(error);
  }
};

const settleAlone = async (
  options: SimulatedStoreOptions,
  namespace: Namespace | undefined,
  reports: readonly TaskReport[],
): Promise<readonly ReportOutcome[]> => {
  try {
    const { answers, settled } = await settleReports(sessionAlone(options), namespace, reports);
    if (options.plant === 'wake-outside-tx') await wakeLater(sessionAlone(options), settled);
    return answers;
  } catch (error) {
    if (!isContention(error)) throw translate(error);
    return transaction(options, (tx) => tx.settleTasks(namespace, reports));
  }
};

const headOf = ({ executionId, namespace, status, definitionHash }: ExecutionHead): ExecutionHead => ({
  executionId,
  namespace,
  status,
  definitionHash,
});

const NOTHING: SteppedRuns = { stepped: new Set(), leased: [] };

type NextDue = Awaited<ReturnType<EngineStore['nextDueInMs']>>;

const least = (instants: readonly (number | undefined)[]): number | undefined => {
  const known = instants.filter((instant) => instant !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};

const nextDue = (statement: Statement): NextDue => {
  const { decideQueue, timers, taskQueue, outbox } = statement.database.tables;
  const messages = statement.scan(outbox.cells.values()).map(({ row }) => row);
  const heads = headsOf(messages);
  const isWaiting = (row: OutboxRow) => row.deadAt === undefined && isHead(heads, row);
  const now = statement.now();
  const inMs = <K extends string>(key: K, at: number | undefined) =>
    at === undefined ? {} : ({ [key]: Math.ceil(Math.max(0, at - now)) } as Record<K, number>);
  const leases = statement.scan(taskQueue.cells.values(), (row) => row.outcome === undefined);
  return {
    ...inMs('evaluation', least(statement.scan(decideQueue.cells.values()).map(({ row }) => row.dueAt))),
    ...inMs('timer', least(statement.scan(timers.cells.values()).map(({ row }) => row.fireAt))),
    ...inMs('lease', least(leases.map(({ row }) => row.leaseExpiresAt))),
    ...inMs('message', least(messages.filter(isWaiting).map((row) => row.availableAt))),
  };
};

const lastEventAt = (statement: Statement, id: ExecutionId): number => {
  const events = statement.scan(statement.database.tables.events.ofRun(id));
  return Math.max(0, ...events.map(({ row }) => row.event.at));
};

const canWake = (statement: Statement, id: ExecutionId): boolean => {
  const { admissions, decideQueue, taskQueue, timers, outbox } = statement.database.tables;
  return (
    statement.scan(admissions.ofRun(id), (row) => !row.admitted).length > 0 ||
    statement.find(decideQueue, id) !== undefined ||
    statement.scan(taskQueue.ofRun(id), (row) => row.outcome === undefined).length > 0 ||
    statement.scan(timers.ofRun(id), (row) => row.purpose !== 'EXECUTION').length > 0 ||
    statement.scan(outbox.ofRun(id), (row) => row.deadAt === undefined).length > 0
  );
};

const stuckRuns = (statement: Statement, idleMs: number, limit: number): readonly ExecutionId[] => {
  const idleSince = statement.now() - idleMs;
  return statement
    .scan(statement.database.tables.executions.cells.values(), (row) => row.status === 'RUNNING')
    .map(({ row }) => row)
    .filter((row) => row.updatedAt <= idleSince && !canWake(statement, row.executionId))
    .map((row) => row.executionId)
    .filter((id) => lastEventAt(statement, id) <= idleSince)
    .sort()
    .slice(0, limit);
};

/** The engine's store over the simulated database, as one server has it. */
export const createSimulatedStore = (options: SimulatedStoreOptions): EngineStore => {
  const { tables } = options.database;
  return asPort<EngineStore>({
    transaction: (work) => transaction(options, work),
    leaseTasks: async (request) => {
      const { namespace, queues, count } = request;
      if (count <= 0 || queues.length === 0) return [];
      const session = sessionAlone(options);
      try {
        const isPlain = namespace === undefined || !(await hasLimits(session, namespace));
        if (isPlain) return await leaseNext(session, request);
      } catch (error) {
        throw translate(error);
      }
      return transaction(options, (tx) => tx.leaseTasks(request));
    },
    stepRuns: async (steps) => {
      if (steps.length === 0) return NOTHING;
      try {
        return await stepRuns(sessionAlone(options), steps);
      } catch (error) {
        if (isContention(error) || isDefect(error)) return NOTHING;
        throw translate(error);
      }
    },
    startRuns: async (starts) => {
      if (starts.length === 0) return NOTHING;
      try {
        return await startRuns(sessionAlone(options), starts);
      } catch (error) {
        if (isContention(error) || isDefect(error)) return NOTHING;
        throw translate(error);
      }
    },
    settleTasks: (namespace, reports) => settleAlone(options, namespace, reports),
    now: () => alone(options, 'now', (statement) => Math.floor(statement.now()) as Instant),
    startContext: (namespaces) =>
      alone(options, 'now', (statement) => ({
        now: Math.floor(statement.now()) as Instant,
        limited: new Set(namespaces.filter((namespace) => limitsStarts(statement, namespace))),
      })),
    findAdmissible: (limit) =>
      alone(options, 'find-admissible', (statement) => admissible(statement, limit, options.plant)),
    findIdempotencyHolder: (namespace, key) =>
      alone(options, 'find-holder', (statement, session) => holderOf(session, statement, namespace, key)),
    findEvent: (executionId, seq) =>
      alone(options, 'find-event', (statement) => {
        const row = statement.find(tables.events, queueKey(executionId, seq));
        return row && { namespace: row.namespace, event: row.event };
      }),
    findHead: (namespace, executionId) =>
      alone(options, 'find-head', (statement) => {
        const row = statement.find(tables.executions, executionId);
        return row?.namespace === namespace ? headOf(row) : undefined;
      }),
    findOpenLease: (namespace, taskId) =>
      alone(options, 'find-lease', (statement, session) => openLease(session, statement, namespace, taskId)),
    nextDueInMs: () => alone(options, 'next-due', nextDue),
    readyQueues: (candidates) =>
      alone(options, 'ready-queues', (statement) => {
        const now = statement.now();
        const free = statement.scan(
          tables.taskQueue.cells.values(),
          (row) => row.task.family === 'worker' && isFree(row, now),
        );
        return candidates.filter(({ namespace, queue }) =>
          free.some(({ row }) => row.namespace === namespace && row.task.queue === queue),
        );
      }),
    findStuck: (idleMs, limit) => alone(options, 'find-stuck', (statement) => stuckRuns(statement, idleMs, limit)),
  });
};
