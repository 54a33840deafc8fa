import { isClosedExecution } from '../../../../src/domain/execution/statuses.ts';
import type { ExecutionId, Namespace } from '../../../../src/domain/kernel/brand.ts';
import type { IdempotencyClaim, IdempotencyHolder } from '../../../../src/ports/engine-store.ts';
import { idempotencyKey } from '../rows.ts';
import type { Tx, TxMethods } from '../session.ts';
import type { Statement } from '../statement.ts';
import { inLockOrder, lockExecutions } from './decide-queue.ts';

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const inKeyOrder = <Key extends Readonly<{ namespace: Namespace; key: string }>>(keys: readonly Key[]) =>
  keys.toSorted((a, b) => compareText(idempotencyKey(a), idempotencyKey(b)));

const claim = async (session: Tx, claims: readonly IdempotencyClaim[]): Promise<ReadonlySet<ExecutionId>> => {
  const { idempotencyKeys } = session.database.tables;
  const inOrder = inKeyOrder(claims);
  const won = new Set<ExecutionId>();
  if (session.plant === 'key-by-look') {
    await session.run('look-for-keys', (statement) => {
      for (const each of inOrder) {
        if (statement.find(idempotencyKeys, idempotencyKey(each)) === undefined) won.add(each.executionId);
      }
    });
  }
  await session.run('claim-keys', async (statement) => {
    for (const { namespace, key, executionId, fingerprint } of inOrder) {
      const rival = await statement.insert(idempotencyKeys, { namespace, key, executionId, fingerprint });
      if (rival === undefined) won.add(executionId);
    }
  });
  return won;
};

/** The keys of the claims that runs hold which have ended; those are locked. */
const endedHolders = async (
  session: Tx,
  claims: readonly IdempotencyClaim[],
): Promise<ReadonlyMap<string, ExecutionId>> => {
  const { idempotencyKeys } = session.database.tables;
  const held = await session.run('find-holders', (statement) =>
    claims.flatMap((each) => statement.find(idempotencyKeys, idempotencyKey(each)) ?? []),
  );
  const { heads } = await lockExecutions(session, inLockOrder(held.map(({ executionId }) => executionId)));
  const ended = new Set(heads.filter(({ status }) => isClosedExecution(status)).map((head) => head.executionId));
  return new Map(
    held.filter(({ executionId }) => ended.has(executionId)).map((row) => [idempotencyKey(row), row.executionId]),
  );
};

const takeOver = async (session: Tx, claims: readonly IdempotencyClaim[]): Promise<ReadonlySet<ExecutionId>> => {
  const { idempotencyKeys } = session.database.tables;
  const holders = await endedHolders(session, claims);
  if (holders.size === 0) return new Set();
  return session.run('take-over-keys', async (statement) => {
    const won = new Set<ExecutionId>();
    for (const { namespace, key, executionId, fingerprint } of claims) {
      const place = idempotencyKey({ namespace, key });
      const cell = idempotencyKeys.find(place);
      const isTheirs = (row: Readonly<{ executionId: ExecutionId }>) => row.executionId === holders.get(place);
      const seen = statement.get(cell);
      if (cell === undefined || seen === undefined || !isTheirs(seen)) continue;
      if ((await statement.lock(cell, isTheirs)) === undefined) continue;
      statement.write(cell, { namespace, key, executionId, fingerprint });
      won.add(executionId);
    }
    return won;
  });
};

export const holderOf = (
  session: Pick<Tx, 'database'>,
  statement: Statement,
  namespace: Namespace,
  key: string,
): IdempotencyHolder | undefined => {
  const { idempotencyKeys, executions } = session.database.tables;
  const held = statement.find(idempotencyKeys, idempotencyKey({ namespace, key }));
  const row = held && statement.find(executions, held.executionId);
  return held && row && { executionId: held.executionId, fingerprint: held.fingerprint, status: row.status };
};

export const idempotencyMethods = (
  session: Tx,
): Pick<
  TxMethods,
  'claimIdempotencyKeys' | 'takeOverIdempotencyKeys' | 'releaseIdempotencyKeys' | 'findIdempotencyHolder'
> => ({
  claimIdempotencyKeys: async (claims) => (claims.length === 0 ? new Set() : claim(session, claims)),
  takeOverIdempotencyKeys: async (claims) => (claims.length === 0 ? new Set() : takeOver(session, claims)),
  releaseIdempotencyKeys: async (keys) => {
    if (keys.length === 0) return;
    await session.run('release-keys', async (statement) => {
      for (const each of inKeyOrder(keys)) {
        const cell = session.database.tables.idempotencyKeys.find(idempotencyKey(each));
        const isOurs = (row: Readonly<{ executionId: ExecutionId }>) => row.executionId === each.executionId;
        const seen = statement.get(cell);
        if (cell === undefined || seen === undefined || !isOurs(seen)) continue;
        if ((await statement.lock(cell, isOurs)) !== undefined) statement.write(cell, undefined);
      }
    });
  },
  findIdempotencyHolder: (namespace, key) =>
    session.run('find-holder', (statement) => holderOf(session, statement, namespace, key)),
});
