import { DatabaseDefectError, DatabaseUnavailableError, PostgresAdapterError } from './database-error.ts';

/**
 * What a failure of the database means to the caller.
 * `contention`: the transaction lost a race and can run again. `unavailable`: nothing is wrong with the call.
 */
export type DatabaseFailure = 'contention' | 'unavailable' | 'defect';

const CONTENTION = new Set(['40001', '40P01', '55P03']);
const UNAVAILABLE = new Set([
  '25006', // a standby answers after a failover
  '25P03', // idle in transaction for too long
  '53100', // disk full
  '53200',
  '53300', // too many connections
  '57014', // statement timeout, or canceled by an operator
  '57P01',
  '57P02',
  '57P03',
  '57P05',
]);
const CONNECTION_EXCEPTIONS = '08';

const BROKEN_CONNECTION = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
const BROKEN_CONNECTION_MESSAGE =
  /connection terminated|timeout exceeded when trying to connect|timeout expired|backend (?:has been )?terminated|not queryable/i;

const SQLSTATE = /^[0-9A-Z]{5}$/;
const CAUSES_MAX = 8;

const causesOf = (error: unknown): readonly Error[] => {
  const chain: Error[] = [];
  let next: unknown = error;
  while (next instanceof Error && chain.length < CAUSES_MAX) {
    chain.push(next, ...(next instanceof AggregateError ? next.errors.filter((inner) => inner instanceof Error) : []));
    next = next.cause;
  }
  return chain;
};

const codeOf = (error: Error): string | undefined => {
  const code: unknown = 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
};

/** The SQLSTATE that the server gave, however deep the libraries wrapped it. */
export const sqlstateOf = (error: unknown): string | undefined =>
  causesOf(error)
    .map(codeOf)
    .find((code) => code !== undefined && SQLSTATE.test(code) && !BROKEN_CONNECTION.has(code));

const isBrokenConnection = (error: Error): boolean =>
  BROKEN_CONNECTION.has(codeOf(error) ?? '') || BROKEN_CONNECTION_MESSAGE.test(error.message);

/** Classifies a failure; undefined for an error that the database has nothing to do with. The only place that reads codes. */
export const classifyFailure = (error: unknown): DatabaseFailure | undefined => {
  if (error instanceof DatabaseUnavailableError) return 'unavailable';
  if (error instanceof DatabaseDefectError) return 'defect';
  const sqlstate = sqlstateOf(error);
  if (sqlstate !== undefined) {
    if (CONTENTION.has(sqlstate)) return 'contention';
    return UNAVAILABLE.has(sqlstate) || sqlstate.startsWith(CONNECTION_EXCEPTIONS) ? 'unavailable' : 'defect';
  }
  return causesOf(error).some(isBrokenConnection) ? 'unavailable' : undefined;
};

/** The error that leaves the adapter: ours for a failure of the database, the very same for anything else. */
export const translateFailure = (error: unknown): unknown => {
  if (error instanceof PostgresAdapterError) return error;
  const message = error instanceof Error ? error.message : String(error);
  switch (classifyFailure(error)) {
    case undefined:
      return error;
    case 'defect':
      return new DatabaseDefectError(message, { sqlstate: sqlstateOf(error), cause: error });
    case 'contention':
    case 'unavailable':
      return new DatabaseUnavailableError(`the database is unavailable: ${message}`, { cause: error });
  }
};
