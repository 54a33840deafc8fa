import { type ExecutionId, type LeaseToken, type Namespace, parseTaskId } from '../../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../../src/domain/kernel/json.ts';
import type { ReportOutcome, TaskReport } from '../../../../src/ports/engine-store.ts';
import { closedKey, type QueueRow, queueKey } from '../rows.ts';
import type { Tx, TxMethods } from '../session.ts';
import type { Statement } from '../statement.ts';
import { askForPass, requestOutcomeReads, seqsByRun } from './decide-queue.ts';

/** What a repeated report is told by: the token and the whole body. */
export const reportHash = (
  leaseToken: LeaseToken,
  { status, reason, output }: Readonly<{ status: string; reason?: string; output: JsonObject }>,
): string => JSON.stringify([leaseToken, status, reason ?? null, output]);

type Placed = Readonly<{ report: TaskReport; executionId: ExecutionId; seq: number; place: number }>;

const placed = (reports: readonly TaskReport[]): readonly Placed[] =>
  reports.flatMap((report, place) => {
    const key = parseTaskId(report.taskId);
    return key === undefined ? [] : [{ report, executionId: key.executionId, seq: key.scheduledSeq, place }];
  });

const inOrder = (reports: readonly Placed[]): readonly Placed[] =>
  reports.toSorted((a, b) => (a.executionId < b.executionId ? -1 : a.executionId > b.executionId ? 1 : a.seq - b.seq));

const keyOf = ({ taskId, leaseToken }: TaskReport): string => `${taskId}/${leaseToken}`;

const isInScope = (namespace: Namespace | undefined, row: QueueRow): boolean =>
  namespace === undefined || row.namespace === namespace;

/** The fence: the condition of the outer WHERE. */
const isHeld =
  (session: Tx, namespace: Namespace | undefined, { leaseToken }: TaskReport) =>
  (row: QueueRow): boolean => {
    if (session.plant === 'no-fence') return row.outcome === undefined && isInScope(namespace, row);
    return row.leaseToken === leaseToken && row.outcome === undefined && isInScope(namespace, row);
  };

const setOutcome = async (
  session: Tx,
  statement: Statement,
  { report, executionId, seq, place }: Placed,
  namespace: Namespace | undefined,
  at: number,
): Promise<boolean> => {
  const cell = session.database.tables.taskQueue.find(queueKey(executionId, seq));
  const seen = statement.get(cell);
  const condition = isHeld(session, namespace, report);
  if (cell === undefined || seen === undefined || !condition(seen)) return false;
  const recheck = session.plant === 'fence-in-subselect' ? () => true : condition;
  const row = await statement.lock(cell, recheck);
  if (row === undefined) return false;
  const { status, output, reason } = report;
  const outcome = { status, output, at: at + place / 1_000, ...(reason === undefined ? {} : { reason }) };
  statement.write(cell, { ...row, outcome });
  return true;
};

const settle = async (
  session: Tx,
  namespace: Namespace | undefined,
  reports: readonly Placed[],
): Promise<ReadonlySet<number>> => {
  const settled = new Set<number>();
  if (reports.length === 0) return settled;
  await session.run('settle', async (statement) => {
    const { taskQueue } = session.database.tables;
    const held = inOrder(reports).filter(({ report, executionId, seq }) => {
      const row = statement.find(taskQueue, queueKey(executionId, seq));
      return row !== undefined && isHeld(session, namespace, report)(row);
    });
    if (session.plant !== 'wake-outside-tx') {
      for (const [id, seqs] of seqsByRun(held)) await askForPass(session, statement, id, seqs);
    }
    const at = statement.now();
    for (const each of held) if (await setOutcome(session, statement, each, namespace, at)) settled.add(each.place);
  });
  return settled;
};

const isRepeated = (
  session: Tx,
  statement: Statement,
  namespace: Namespace | undefined,
  { report, executionId, seq }: Placed,
): boolean => {
  const { taskQueue, events, closedTasks } = session.database.tables;
  const hash = reportHash(report.leaseToken, report);
  const open = statement.find(taskQueue, queueKey(executionId, seq));
  if (open?.leaseToken === report.leaseToken && open.outcome !== undefined && isInScope(namespace, open)) {
    if (reportHash(report.leaseToken, open.outcome) === hash) return true;
  }
  const event = statement.find(events, queueKey(executionId, seq));
  if (event === undefined || event.event.type !== 'TaskScheduled') return false;
  if (namespace !== undefined && event.namespace !== namespace) return false;
  const closed = statement.find(closedTasks, closedKey(executionId, event.event));
  return closed?.seq === seq && closed.reportHash === hash;
};

const repeatedPlaces = async (
  session: Tx,
  namespace: Namespace | undefined,
  reports: readonly Placed[],
): Promise<ReadonlySet<number>> => {
  if (reports.length === 0) return new Set();
  return session.run(
    'find-repeated',
    (statement) =>
      new Set(reports.flatMap((each) => (isRepeated(session, statement, namespace, each) ? [each.place] : []))),
  );
};

/** As the adapter does: the first of equal keys is tried, the others are compared with what is stored. */
export const settleReports = async (
  session: Tx,
  namespace: Namespace | undefined,
  reports: readonly TaskReport[],
): Promise<Readonly<{ answers: readonly ReportOutcome[]; settled: readonly Placed[] }>> => {
  const first = new Map<string, number>();
  for (const [place, report] of reports.entries()) if (!first.has(keyOf(report))) first.set(keyOf(report), place);
  const all = placed(reports);
  const tried = all.filter(({ report, place }) => first.get(keyOf(report)) === place);
  const settled = await settle(session, namespace, tried);
  const repeated = await repeatedPlaces(
    session,
    namespace,
    all.filter(({ place }) => !settled.has(place)),
  );
  const answers = reports.map((_, place): ReportOutcome => {
    if (settled.has(place)) return 'settled';
    return repeated.has(place) ? 'repeated' : 'leaseLost';
  });
  return { answers, settled: tried.filter(({ place }) => settled.has(place)) };
};

/** For the planted mistake: asks for the passes of reports whose transaction has ended. */
export const wakeLater = (session: Tx, settled: readonly Placed[]): Promise<void> =>
  requestOutcomeReads(session, settled);

export const reportMethods = (session: Tx): Pick<TxMethods, 'settleTasks'> => ({
  settleTasks: async (namespace, reports) => (await settleReports(session, namespace, reports)).answers,
});
