import type { ExecutionClosed } from '../domain/execution/events.ts';
import { isClosedExecution } from '../domain/execution/statuses.ts';
import type { ExecutionId } from '../domain/kernel/brand.ts';
import type { EngineTx, IdempotencyHolder } from '../ports/engine-store.ts';
import type { ApplicationError } from './application-error.ts';
import type { PreparedStart } from './start-in-transaction.ts';

export type ClaimedStart = Readonly<
  | { kind: 'won'; start: PreparedStart }
  | { kind: 'held'; holder: IdempotencyHolder }
  | { kind: 'refused'; error: ApplicationError }
>;

type Keyed = Readonly<{
  idempotencyKey: string | null;
  idempotencyStrategy: 'RETURN_EXISTING' | 'FAIL' | 'FAIL_ON_RUNNING' | null;
}>;

/**
 * Wins the key of a start, takes it over from a run that has ended where the strategy says so, or says who holds it. A claim that another transaction is about to commit is waited for, so the
 * holder is visible to the statement after it.
 */
export const claimKeyOf = async (
  tx: EngineTx,
  fingerprint: string,
  start: PreparedStart,
  { idempotencyKey: key, idempotencyStrategy: strategy }: Keyed,
): Promise<ClaimedStart> => {
  const { namespace, executionId } = start;
  if (key === null) return { kind: 'won', start };
  const claims = [{ namespace, key, executionId, fingerprint }];
  const won = await tx.claimIdempotencyKeys(claims);
  // It locks the holder, whose pass never waits for anything of the parent.
  const taken = won.size === 0 && strategy === 'FAIL_ON_RUNNING' ? await tx.takeOverIdempotencyKeys(claims) : won;
  if (taken.has(executionId)) return { kind: 'won', start: { ...start, idempotencyKey: key } };
  const holder = await tx.findIdempotencyHolder(namespace, key);
  if (holder === undefined) throw new Error(`the run that holds the idempotency key ${key} is not visible`);
  const error = refusalOf(holder, key, fingerprint, strategy ?? 'RETURN_EXISTING');
  return error === undefined ? { kind: 'held', holder } : { kind: 'refused', error };
};

const refusalOf = (
  holder: IdempotencyHolder,
  key: string,
  fingerprint: string,
  strategy: NonNullable<Keyed['idempotencyStrategy']>,
): ApplicationError | undefined => {
  if (holder.fingerprint !== fingerprint) {
    return { code: 'IDEMPOTENCY_KEY_REUSED', message: `The idempotency key ${key} was used for another request.` };
  }
  const isRefused = strategy === 'FAIL' || (strategy === 'FAIL_ON_RUNNING' && !isClosedExecution(holder.status));
  if (!isRefused) return undefined;
  return { code: 'CONFLICT', message: `Execution ${holder.executionId} holds the idempotency key ${key}.` };
};

/** How a run ended; undefined while it has not. */
export const endOf = async (tx: EngineTx, executionId: ExecutionId): Promise<ExecutionClosed | undefined> => {
  const log = (await tx.readEvents(new Map([[executionId, 0]]))).get(executionId) ?? [];
  const last = log.findLast(
    ({ event }) => event.type === 'ExecutionClosed' || event.type === 'ExecutionRetried',
  )?.event;
  return last?.type === 'ExecutionClosed' ? last : undefined;
};
