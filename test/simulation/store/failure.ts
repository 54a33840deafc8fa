/** A failure of the simulated database, by its SQLSTATE. */
export class StatementFailure extends Error {
  override readonly name = 'StatementFailure';
  readonly sqlstate: string;

  constructor(sqlstate: string, message: string) {
    super(`${sqlstate}: ${message}`);
    this.sqlstate = sqlstate;
  }
}

/** What leaves the store when the database cannot be asked: the adapter's code for it. */
export class SimulatedUnavailableError extends Error {
  override readonly name = 'SimulatedUnavailableError';
  readonly code = 'UNAVAILABLE';
}

/** What leaves the store when a statement should never have been sent. */
export class SimulatedDefectError extends Error {
  override readonly name = 'SimulatedDefectError';
  readonly code = 'DATABASE_DEFECT';
}

const CONTENTION = new Set(['40001', '40P01', '55P03']);

export const isContention = (error: unknown): boolean =>
  error instanceof StatementFailure && CONTENTION.has(error.sqlstate);

/** The connection is gone: whether what was sent has happened, nobody knows. */
export const isLost = (error: unknown): boolean => error instanceof StatementFailure && error.sqlstate === '08006';

/** What an old fold runs into: a key that exists, or the division that says that not everything was opened. */
export const isDefect = (error: unknown): boolean =>
  error instanceof StatementFailure && (error.sqlstate === '23505' || error.sqlstate === '22012');

/** The classes of the adapter: unavailable, a defect, or an error that the database has nothing to do with. */
export const translate = (error: unknown): unknown => {
  if (!(error instanceof StatementFailure)) return error;
  if (CONTENTION.has(error.sqlstate) || error.sqlstate === '57014' || error.sqlstate.startsWith('08')) {
    return new SimulatedUnavailableError(error.message);
  }
  return new SimulatedDefectError(error.message);
};
