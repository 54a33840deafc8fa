import type { Namespace } from '../../../../src/domain/kernel/brand.ts';
import type { OutboxMessage } from '../../../../src/ports/engine-store.ts';
import type { OutboxRow } from '../rows.ts';
import type { Tx, TxMethods } from '../session.ts';
import type { Statement } from '../statement.ts';

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const messageOf = (row: OutboxRow): OutboxMessage => ({
  id: String(row.id),
  namespace: row.namespace,
  executionId: row.executionId,
  topic: row.topic,
  dedupKey: row.dedupKey,
  orderingKey: row.orderingKey,
  payload: row.payload,
  attempts: row.attempts,
});

const lineOf = ({ namespace, orderingKey }: OutboxRow): string => `${namespace}/${orderingKey}`;

/** The oldest message of each line that is not dead. */
export const headsOf = (rows: readonly OutboxRow[]): ReadonlyMap<string, number> => {
  const heads = new Map<string, number>();
  for (const row of rows) {
    if (row.deadAt === undefined) heads.set(lineOf(row), Math.min(heads.get(lineOf(row)) ?? row.id, row.id));
  }
  return heads;
};

export const isHead = (heads: ReadonlyMap<string, number>, row: OutboxRow): boolean =>
  heads.get(lineOf(row)) === row.id;

const changeDead = async (
  session: Tx,
  statement: Statement,
  namespace: Namespace,
  ids: readonly string[],
  change: (row: OutboxRow) => OutboxRow | undefined,
): Promise<number> => {
  const wanted = new Set(ids);
  const isDead = (row: OutboxRow): boolean =>
    row.deadAt !== undefined && row.namespace === namespace && wanted.has(String(row.id));
  let changed = 0;
  for (const { cell } of statement.scan(session.database.tables.outbox.cells.values(), isDead)) {
    const row = await statement.lock(cell, isDead);
    if (row === undefined) continue;
    statement.write(cell, change(row));
    changed += 1;
  }
  return changed;
};

export const outboxMethods = (
  session: Tx,
): Pick<
  TxMethods,
  'putMessages' | 'claimMessages' | 'markDelivered' | 'markFailed' | 'redriveDeadLetters' | 'deleteDeadLetters'
> => {
  const { outbox } = session.database.tables;
  return {
    putMessages: async (messages) => {
      if (messages.length === 0) return;
      await session.run('put-messages', async (statement) => {
        const inOrder = messages.toSorted((a, b) => compareText(a.executionId, b.executionId));
        for (const { executionId, namespace, item } of inOrder) {
          if (session.plant === 'children-left' && item.topic === 'terminate-child') continue;
          const { topic, dedupKey, orderingKey, payload, visibleAt } = item;
          await statement.insert(outbox, {
            id: session.database.nextId(),
            executionId,
            namespace,
            topic,
            dedupKey,
            orderingKey,
            payload,
            attempts: 0,
            availableAt: Math.max(visibleAt ?? 0, statement.now()),
          });
        }
      });
    },
    claimMessages: (limit, holdMs) =>
      session.run('claim-messages', (statement) => {
        const now = statement.now();
        const all = statement.scan(outbox.cells.values());
        const heads = headsOf(all.map(({ row }) => row));
        const isDue = (row: OutboxRow) =>
          row.deadAt === undefined &&
          row.availableAt <= now &&
          (session.plant === 'messages-unordered' || isHead(heads, row));
        const due = all.filter(({ row }) => isDue(row));
        due.sort((a, b) => a.row.availableAt - b.row.availableAt || a.row.id - b.row.id);
        const claimed: OutboxRow[] = [];
        for (const { cell } of due) {
          if (claimed.length >= limit) break;
          const row = statement.lockOrSkip(cell, isDue);
          if (row === undefined) continue;
          const held = { ...row, availableAt: statement.now() + holdMs };
          statement.write(cell, session.plant === 'delivered-before-sent' ? undefined : held);
          claimed.push(held);
        }
        return claimed.sort((a, b) => a.id - b.id).map(messageOf);
      }),
    markDelivered: async (ids) => {
      if (ids.length === 0) return 0;
      return session.run('delivered', async (statement) => {
        let delivered = 0;
        const wanted = new Set(ids);
        for (const { cell } of statement.scan(outbox.cells.values(), (row) => wanted.has(String(row.id)))) {
          if ((await statement.lock(cell)) === undefined) continue;
          statement.write(cell, undefined);
          delivered += 1;
        }
        return delivered;
      });
    },
    redriveDeadLetters: (namespace, ids) =>
      session.run('redrive', (statement) =>
        changeDead(session, statement, namespace, ids, ({ deadAt: _dead, ...row }) => ({
          ...row,
          attempts: 0,
          availableAt: statement.now(),
        })),
      ),
    deleteDeadLetters: (namespace, ids) =>
      session.run('delete-dead', (statement) => changeDead(session, statement, namespace, ids, () => undefined)),
    markFailed: async (failures) => {
      if (failures.length === 0) return;
      await session.run('failed', async (statement) => {
        const byId = new Map(failures.map((failure) => [failure.id, failure]));
        for (const { cell } of statement.scan(outbox.cells.values(), (row) => byId.has(String(row.id)))) {
          const row = await statement.lock(cell);
          const failure = row === undefined ? undefined : byId.get(String(row.id));
          if (row === undefined || failure === undefined) continue;
          const { deadAt: _dead, ...rest } = row;
          statement.write(cell, {
            ...rest,
            attempts: row.attempts + 1,
            lastFailure: failure.reason,
            availableAt: statement.now() + failure.retryAfterMs,
            ...(failure.dead ? { deadAt: statement.now() } : {}),
          });
        }
      });
    },
  };
};
