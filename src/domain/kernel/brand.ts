declare const brand: unique symbol;
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** Identity of a run: UUIDv7, made by the id port. */
export type ExecutionId = Brand<string, 'ExecutionId'>;
/** The tenant boundary; comes from the authenticated path or credential only. */
export type Namespace = Brand<string, 'Namespace'>;
/** Proof of a lease: a random UUID, matched in the outer WHERE of every write of its holder. */
export type LeaseToken = Brand<string, 'LeaseToken'>;
/** `{executionId}.{seq of the event that scheduled the attempt}`. */
export type TaskId = Brand<string, 'TaskId'>;
/** Milliseconds since the epoch, UTC. */
export type Instant = Brand<number, 'Instant'>;

export const addMs = (at: Instant, ms: number): Instant => (at + ms) as Instant;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const TASK_ID = /^([0-9a-f-]{36})\.(\d{1,15})$/;

export const parseExecutionId = (text: string): ExecutionId | undefined =>
  UUID.test(text) ? (text as ExecutionId) : undefined;

export const parseLeaseToken = (text: string): LeaseToken | undefined =>
  UUID.test(text) ? (text as LeaseToken) : undefined;

export const parseNamespace = (text: string): Namespace | undefined =>
  NAMESPACE.test(text) ? (text as Namespace) : undefined;

export const taskIdOf = (executionId: ExecutionId, scheduledSeq: number): TaskId =>
  `${executionId}.${scheduledSeq}` as TaskId;

/** Splits a task id into the run it belongs to and the seq of the event that scheduled it; undefined when malformed. */
export const parseTaskId = (text: string): { executionId: ExecutionId; scheduledSeq: number } | undefined => {
  const match = TASK_ID.exec(text);
  const executionId = match?.[1] === undefined ? undefined : parseExecutionId(match[1]);
  return match === null || executionId === undefined ? undefined : { executionId, scheduledSeq: Number(match[2]) };
};
