import type { JsonValue } from '../domain/kernel/json.ts';
import type { Result } from '../domain/kernel/result.ts';

/** One statement for a database that the operator has named. Values are parameters, never part of its text. */
export type SqlRequest = Readonly<{
  statement: string;
  parameters: readonly JsonValue[];
  /** Rows that are taken; with one more the statement is ended. */
  rowsMax: number;
  timeoutMs: number;
  /** Another count of changed rows undoes the statement. */
  expectedCount?: number;
}>;

export type SqlAnswer = Readonly<{
  rows: readonly Readonly<Record<string, JsonValue>>[];
  /** Rows changed, or given. */
  rowCount: number;
}>;

export type SqlProblem = Readonly<{
  code:
    | 'UNKNOWN_DATASOURCE'
    | 'STATEMENT_FAILED'
    | 'TOO_MANY_ROWS'
    | 'UNEXPECTED_COUNT'
    | 'TIMED_OUT'
    | 'UNAVAILABLE'
    | 'ABORTED';
  message: string;
  /** Another attempt may go better. */
  retryable: boolean;
}>;

/** Databases of the operator's, by name: where they are and who may use them, no definition says. */
export interface SqlDatasources {
  run(datasource: string, request: SqlRequest, signal: AbortSignal): Promise<Result<SqlAnswer, SqlProblem>>;
}
