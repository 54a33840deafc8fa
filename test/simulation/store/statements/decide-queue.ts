import type { ExecutionId, Instant } from '../../../../src/domain/kernel/brand.ts';
import type { ExecutionHead, LockedExecutions } from '../../../../src/ports/engine-store.ts';
import type { DecideRow } from '../rows.ts';
import type { Tx, TxMethods } from '../session.ts';
import type { Statement } from '../statement.ts';

export const inLockOrder = (ids: Iterable<ExecutionId>): readonly ExecutionId[] => [...new Set(ids)].sort();

const merged =
  (row: DecideRow, isReplacing: boolean) =>
  (present: DecideRow): DecideRow => ({
    executionId: row.executionId,
    dueAt: Math.min(present.dueAt, row.dueAt),
    attempts: 0,
    reported: isReplacing ? row.reported : [...present.reported, ...row.reported],
  });

/** The upsert that asks for a pass: DO UPDATE, which locks. */
export const askForPass = async (
  session: Tx,
  statement: Statement,
  executionId: ExecutionId,
  reported: readonly number[],
): Promise<void> => {
  const { decideQueue } = session.database.tables;
  const row: DecideRow = { executionId, dueAt: statement.now(), attempts: 0, reported };
  if (session.plant === 'decide-row-do-nothing') return void (await statement.insert(decideQueue, row));
  await statement.upsert(decideQueue, row, merged(row, session.plant === 'reported-replaced'));
};

export const requestPasses = (session: Tx, executionIds: Iterable<ExecutionId>): Promise<void> =>
  session.run('request', async (statement) => {
    for (const id of inLockOrder(executionIds)) await askForPass(session, statement, id, []);
  });

type AttemptKey = Readonly<{ executionId: ExecutionId; seq: number }>;

/** By run, in lock order. */
export const seqsByRun = (attempts: readonly AttemptKey[]): ReadonlyMap<ExecutionId, readonly number[]> => {
  const seqs = new Map<ExecutionId, number[]>();
  for (const id of inLockOrder(attempts.map(({ executionId }) => executionId))) seqs.set(id, []);
  for (const { executionId, seq } of attempts) seqs.get(executionId)?.push(seq);
  return seqs;
};

export const requestOutcomeReads = async (session: Tx, attempts: readonly AttemptKey[]): Promise<void> => {
  if (attempts.length === 0) return;
  await session.run('request-outcomes', async (statement) => {
    for (const [id, seqs] of seqsByRun(attempts)) await askForPass(session, statement, id, seqs);
  });
};

const remember = (session: Tx, row: DecideRow): void => {
  const before = session.memory.reported.get(row.executionId) ?? [];
  session.memory.reported.set(row.executionId, new Set([...before, ...row.reported]));
};

const headOf = ({ executionId, namespace, status, definitionHash }: ExecutionHead): ExecutionHead => ({
  executionId,
  namespace,
  status,
  definitionHash,
});

export const lockExecutions = (session: Tx, ids: readonly ExecutionId[]): Promise<LockedExecutions> =>
  session.run('lock-executions', async (statement) => {
    const { executions } = session.database.tables;
    const heads: ExecutionHead[] = [];
    for (const id of [...ids].sort()) {
      const cell = executions.find(id);
      const seen = statement.get(cell);
      if (cell === undefined || seen === undefined) continue;
      const row = session.plant === 'no-execution-lock' ? seen : await statement.lock(cell);
      if (row !== undefined) heads.push(headOf(row));
    }
    return { now: Math.floor(statement.now()) as Instant, heads };
  });

const claimDue = (session: Tx, limit: number): Promise<readonly DecideRow[]> =>
  session.run('claim', (statement) => {
    const { decideQueue } = session.database.tables;
    const now = statement.now();
    const isDue = (row: DecideRow) => row.dueAt <= now;
    const due = statement.scan(decideQueue.cells.values(), isDue).sort((a, b) => a.row.dueAt - b.row.dueAt);
    const claimed: DecideRow[] = [];
    for (const { cell, row: seen } of due) {
      if (claimed.length >= limit) break;
      if (session.plant === 'claim-without-delete') {
        claimed.push(seen);
        session.deleteAtEnd.push(seen.executionId);
        continue;
      }
      const row = statement.lockOrSkip(cell, isDue);
      if (row === undefined) continue;
      statement.write(cell, undefined);
      claimed.push(row);
    }
    return claimed;
  });

const claimNamed = (session: Tx, ids: readonly ExecutionId[]): Promise<readonly DecideRow[]> =>
  session.run('claim-of', async (statement) => {
    const { decideQueue } = session.database.tables;
    const claimed: DecideRow[] = [];
    for (const id of ids) {
      const cell = decideQueue.find(id);
      if (cell === undefined || statement.get(cell) === undefined) continue;
      const row = await statement.lock(cell);
      if (row === undefined) continue;
      statement.write(cell, undefined);
      claimed.push(row);
    }
    return claimed;
  });

/** The mistake of reading first: what the rows told before they were claimed. */
const peeked = (session: Tx, ids: readonly ExecutionId[] | undefined): Promise<readonly DecideRow[]> =>
  session.run('peek', (statement) =>
    statement
      .scan(session.database.tables.decideQueue.cells.values(), (row) => ids?.includes(row.executionId) ?? true)
      .map(({ row }) => row),
  );

const rememberAll = (session: Tx, claimed: readonly DecideRow[], before: readonly DecideRow[] | undefined): void => {
  const known = new Map(before?.map((row) => [row.executionId, row]));
  for (const row of claimed) remember(session, known.get(row.executionId) ?? row);
};

export const decideQueueMethods = (
  session: Tx,
): Pick<TxMethods, 'claimEvaluations' | 'claimEvaluationsOf' | 'requestEvaluations' | 'parkEvaluation'> => ({
  claimEvaluations: async (limit) => {
    const before = session.plant === 'read-before-claim' ? await peeked(session, undefined) : undefined;
    const claimed = await claimDue(session, limit);
    if (claimed.length === 0) return { now: Math.floor(session.database.now()) as Instant, heads: [] };
    rememberAll(session, claimed, before);
    return lockExecutions(
      session,
      claimed.map((row) => row.executionId),
    );
  },
  claimEvaluationsOf: async (executionIds) => {
    const ids = inLockOrder(executionIds);
    const before = session.plant === 'read-before-claim' ? await peeked(session, ids) : undefined;
    rememberAll(session, await claimNamed(session, ids), before);
    return lockExecutions(session, ids);
  },
  requestEvaluations: async (executionIds) => {
    if (executionIds.length === 0) return;
    const isUnheld = session.plant === 'request-without-row' || session.plant === 'no-execution-lock';
    if (isUnheld && session.isFresh) return;
    await requestPasses(session, executionIds);
  },
  parkEvaluation: async ({ executionId, attempts, retryAfterMs, reason }) => {
    const reported = session.plant === 'park-forgets' ? [] : [...(session.memory.reported.get(executionId) ?? [])];
    await session.run('park', async (statement) => {
      const row: DecideRow = { executionId, dueAt: statement.now() + retryAfterMs, attempts, reason, reported };
      await statement.upsert(session.database.tables.decideQueue, row, (present) => ({
        ...row,
        reported: [...present.reported, ...reported],
      }));
    });
  },
});
