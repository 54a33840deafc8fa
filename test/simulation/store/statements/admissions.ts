import type { Gate } from '../../../../src/domain/execution/admission.ts';
import {
  type Admission,
  type AdmissionRequest,
  admit,
  type GateUse,
  gateKey,
  type QuotaUse,
} from '../../../../src/domain/execution/admit.ts';
import type { ExecutionId, Namespace } from '../../../../src/domain/kernel/brand.ts';
import type { Plant } from '../../plants.ts';
import type { Database } from '../database.ts';
import type { AdmissionRow } from '../rows.ts';
import type { Tx, TxMethods } from '../session.ts';
import type { Statement } from '../statement.ts';

const MINUTE_MS = 60_000;
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const minuteOf = (at: number): number => at - (at % MINUTE_MS);

export const placeKey = ({ namespace, kind, name, key }: Omit<Gate, 'limit' | 'waits'> & { namespace: Namespace }) =>
  gateKey(namespace, { kind, name, key });

type Session = Tx;

const lockAll = async (session: Session, names: Iterable<string>): Promise<void> => {
  const sorted = [...new Set(names)].sort();
  if (sorted.length === 0 || session.plant === 'admission-without-lock') return;
  await session.run('lock-admissions', async () => {
    for (const name of sorted) await session.database.lockAdvisory(session.tx, name);
  });
};

const quotaLock = (namespace: Namespace): string => `quota ${namespace}`;

/** Whether a quota of the namespace limits starts. */
export const limitsStarts = (statement: Statement, namespace: Namespace | undefined): boolean =>
  namespace !== undefined && statement.find(statement.database.tables.quotas, namespace) !== undefined;

const gateUses = (statement: Statement, requests: readonly AdmissionRequest[]): ReadonlyMap<string, GateUse> => {
  const { admissions } = statement.database.tables;
  const uses = new Map<string, GateUse>();
  for (const { namespace, gates } of requests) {
    for (const gate of gates) {
      const id = gateKey(namespace, gate);
      const rows = statement.scan(admissions.cells.values(), (row) => placeKey(row) === id).map(({ row }) => row);
      const held = rows.filter((row) => row.admitted).length;
      uses.set(id, { held: Math.min(held, gate.limit), isAwaited: rows.some((row) => !row.admitted) });
    }
  }
  return uses;
};

const quotaUses = (statement: Statement, namespaces: readonly Namespace[]): ReadonlyMap<Namespace, QuotaUse> => {
  const { executions, quotas } = statement.database.tables;
  const now = statement.now();
  return new Map(
    namespaces.flatMap((namespace): [Namespace, QuotaUse][] => {
      const row = statement.find(quotas, namespace);
      if (row === undefined) return [];
      const isGoing = (run: Readonly<{ namespace: Namespace; status: string }>) =>
        run.namespace === namespace && (run.status === 'RUNNING' || run.status === 'PAUSED');
      const use = {
        concurrentMax: row.concurrentMax,
        running: statement.scan(executions.cells.values(), isGoing).length,
        perMinuteMax: row.perMinuteMax,
        startedThisMinute: row.minute === minuteOf(now) ? row.starts : 0,
        minuteEndsInMs: MINUTE_MS - (now % MINUTE_MS),
      };
      return [[namespace, use]];
    }),
  );
};

const writePlaces = (
  session: Session,
  requests: readonly AdmissionRequest[],
  answers: readonly Admission[],
): Promise<void> =>
  session.run('write-places', async (statement) => {
    for (const [index, { executionId, namespace, gates }] of requests.entries()) {
      const kind = answers[index]?.kind;
      if (kind === undefined || kind === 'refused') continue;
      for (const { kind: of, name, key, limit, waits } of gates) {
        const place = { executionId, namespace, kind: of, name, key, runsMax: limit };
        const admitted = kind === 'admitted' || !waits;
        const position = session.database.nextId();
        const notBefore = statement.now();
        await statement.mustInsert(session.database.tables.admissions, { ...place, admitted, position, notBefore });
      }
    }
  });

const writeStarts = (session: Session, starts: ReadonlyMap<Namespace, number>): Promise<void> =>
  session.run('count-starts', async (statement) => {
    const { quotas } = session.database.tables;
    for (const [namespace, count] of [...starts].sort()) {
      const cell = quotas.find(namespace);
      const row = cell === undefined ? undefined : await statement.lock(cell);
      if (cell === undefined || row?.perMinuteMax === undefined) continue;
      const minute = minuteOf(statement.now());
      statement.write(cell, { ...row, minute, starts: count + (row.minute === minute ? row.starts : 0) });
    }
  });

const startsOf = (
  requests: readonly AdmissionRequest[],
  answers: readonly Admission[],
  quotas: ReadonlyMap<Namespace, QuotaUse>,
): ReadonlyMap<Namespace, number> => {
  const starts = new Map<Namespace, number>();
  for (const [index, { namespace, isStart }] of requests.entries()) {
    if (!isStart || answers[index]?.kind === 'refused' || !quotas.has(namespace)) continue;
    starts.set(namespace, (starts.get(namespace) ?? 0) + 1);
  }
  return starts;
};

const admitAll = async (session: Session, requests: readonly AdmissionRequest[]): Promise<readonly Admission[]> => {
  const all = [...new Set(requests.map(({ namespace }) => namespace))];
  const limited = await session.run('limiting-quotas', (statement) =>
    all.filter((namespace) => limitsStarts(statement, namespace)),
  );
  const locks = requests.flatMap(({ namespace, gates }) => gates.map((gate) => gateKey(namespace, gate)));
  await lockAll(session, [...locks, ...limited.map(quotaLock)]);
  const quotas = limited.length === 0 ? new Map() : await session.run('quota-uses', (all) => quotaUses(all, limited));
  const gates = locks.length === 0 ? new Map() : await session.run('gate-uses', (all) => gateUses(all, requests));
  const answers = admit(requests, { gates, quotas });
  if (locks.length > 0) await writePlaces(session, requests, answers);
  const starts = startsOf(requests, answers, quotas);
  if (starts.size > 0) await writeStarts(session, starts);
  return answers;
};

const isRunning = (statement: Statement, id: ExecutionId): boolean =>
  statement.find(statement.database.tables.executions, id)?.status === 'RUNNING';

/** Those of the queue of this place whose turn could come, in their order: neither paused nor postponed. */
const inLine = (statement: Statement, queue: string): readonly AdmissionRow[] =>
  statement
    .scan(statement.database.tables.admissions.cells.values(), (row) => placeKey(row) === queue && !row.admitted)
    .map(({ row }) => row)
    .filter((row) => row.notBefore <= statement.now() && isRunning(statement, row.executionId))
    .sort((a, b) => a.position - b.position);

const heldAt = (statement: Statement, queue: string): number =>
  statement.scan(statement.database.tables.admissions.cells.values(), (row) => placeKey(row) === queue && row.admitted)
    .length;

/** Of each queue as many of the first as there is room for. */
export const admissible = (statement: Statement, limit: number, plant?: Plant): readonly ExecutionId[] => {
  const queued = statement.scan(statement.database.tables.admissions.cells.values(), (row) => !row.admitted);
  const queues = new Set(queued.map(({ row }) => placeKey(row)));
  const next = [...queues].flatMap((queue) => {
    const held = heldAt(statement, queue);
    const line = inLine(statement, queue);
    return (plant === 'queue-jumped' ? line.toReversed() : line).filter((row, place) => place < row.runsMax - held);
  });
  return next
    .sort((a, b) => a.position - b.position)
    .slice(0, limit)
    .map((row) => row.executionId);
};

const waitingCell = (database: Database, id: ExecutionId) => database.tables.admissions.find(`${id}|KEY`);

const admitQueued = async (session: Session, id: ExecutionId): Promise<boolean> => {
  const { database } = session;
  const queued = await session.run('find-place', (statement) => {
    const row = statement.get(waitingCell(database, id));
    return row?.admitted === false ? row : undefined;
  });
  if (queued === undefined) return false;
  const queue = placeKey(queued);
  await lockAll(session, [queue]);
  return session.run('promote', async (statement) => {
    const cell = waitingCell(database, id);
    const row = statement.get(cell);
    if (cell === undefined || row === undefined || row.admitted || !isRunning(statement, id)) return false;
    const isFirst = inLine(statement, queue).every((other) => other.position >= row.position);
    if (!isFirst && session.plant !== 'queue-jumped') return false;
    if (heldAt(statement, queue) >= row.runsMax) return false;
    const latest = await statement.lock(cell, (now) => !now.admitted);
    if (latest === undefined) return false;
    statement.write(cell, { ...latest, admitted: true });
    return true;
  });
};

export const admissionMethods = (
  session: Session,
): Pick<TxMethods, 'admitExecutions' | 'admitQueued' | 'postponeAdmission' | 'releaseAdmissions'> => {
  const { database } = session;
  return {
    admitExecutions: async (requests) => (requests.length === 0 ? [] : admitAll(session, requests)),
    admitQueued: (id) => admitQueued(session, id),
    postponeAdmission: (id, delayMs) =>
      session.run('postpone-admission', async (statement) => {
        const cell = waitingCell(database, id);
        const isWaiting = (row: AdmissionRow) => !row.admitted;
        const seen = statement.get(cell);
        if (cell === undefined || seen === undefined || !isWaiting(seen)) return;
        const row = await statement.lock(cell, isWaiting);
        if (row !== undefined) statement.write(cell, { ...row, notBefore: statement.now() + delayMs });
      }),
    releaseAdmissions: async (ids) => {
      if (ids.length === 0 || session.plant === 'place-kept') return;
      await session.run('release-admissions', async (statement) => {
        for (const id of [...ids].sort(compareText)) {
          for (const { cell } of statement.scan(database.tables.admissions.ofRun(id))) {
            if ((await statement.lock(cell)) !== undefined) statement.write(cell, undefined);
          }
        }
      });
    },
  };
};
