import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { SqlAnswer, SqlDatasources, SqlRequest } from '../../ports/sql-datasources.ts';
import { type CallResult, completed, failed, failedForGood, GIVEN_UP } from './call-result.ts';
import { CALL_TIMEOUT_MS_MAX } from './http-request.ts';
import { numberedPlaceholders } from './numbered-placeholders.ts';

/** Rows of one answer unless the task says otherwise, and the most that it can say. */
const ROWS_DEFAULT = 1_000;
export const ROWS_MAX = 10_000;
const TIMEOUT_MS = 30_000;
/** Parameters of one statement: what PostgreSQL takes. */
export const PARAMETERS_MAX = 65_535;

const CONNECTION_INPUTS = ['connectionString', 'jdbcUrl', 'url', 'host', 'user', 'username', 'password', 'driver'];

type JdbcCall = Readonly<{ datasource: string; request: SqlRequest; isUpdate: boolean }>;

const isGiven = (value: JsonValue | undefined): value is JsonValue =>
  value !== undefined && value !== null && value !== '';

const wholeNumber = (value: JsonValue | undefined): number | undefined => {
  if (!isGiven(value)) return undefined;
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : Number.NaN;
};

/** What a task says about its statement, in our words or in Conductor's. The error is a sentence for people. */
export const jdbcCallOf = (input: JsonObject): Result<JdbcCall, string> => {
  const own = CONNECTION_INPUTS.find((name) => isGiven(input[name]));
  if (own !== undefined) return err(`A definition names its datasource, and brings no ${own} of its own.`);
  const isOurs = isGiven(input.datasource);
  const datasource = isOurs ? input.datasource : input.connectionId;
  if (typeof datasource !== 'string' || datasource === '') return err('The task names no datasource.');
  const { statement, parameters = [] } = input;
  if (typeof statement !== 'string' || statement.trim() === '') return err('The task has no statement.');
  if (!Array.isArray(parameters) || parameters.length > PARAMETERS_MAX) return err('parameters is a list.');
  const rowsMax = wholeNumber(input.rowsMax) ?? ROWS_DEFAULT;
  if (!(rowsMax > 0 && rowsMax <= ROWS_MAX)) return err(`rowsMax is a number up to ${ROWS_MAX}.`);
  const timeoutMs = wholeNumber(input.timeoutMs) ?? TIMEOUT_MS;
  if (!(timeoutMs > 0 && timeoutMs <= CALL_TIMEOUT_MS_MAX)) {
    return err(`timeoutMs is a number of milliseconds up to ${CALL_TIMEOUT_MS_MAX}.`);
  }
  const expectedCount = wholeNumber(input.expectedUpdateCount);
  if (Number.isNaN(expectedCount)) return err('expectedUpdateCount is a number of rows.');
  return ok({
    datasource,
    isUpdate: String(input.type ?? '').toUpperCase() === 'UPDATE',
    request: {
      statement: isOurs ? statement : numberedPlaceholders(statement),
      parameters: parameters as readonly JsonValue[],
      rowsMax,
      timeoutMs,
      ...(expectedCount === undefined ? {} : { expectedCount }),
    },
  });
};

const outputOf = ({ rows, rowCount }: SqlAnswer, isUpdate: boolean): JsonObject =>
  isUpdate ? { update_count: rowCount, rowCount, result: rows } : { result: rows, rowCount };

/** JDBC: one statement, in a transaction of its own, in a database that the operator has named. */
export const jdbcTask = async (
  datasources: SqlDatasources,
  given: JsonObject,
  signal: AbortSignal,
): Promise<CallResult> => {
  const call = jdbcCallOf(isJsonObject(given) ? given : {});
  if (!call.ok) return failedForGood(`INVALID_REQUEST: ${call.error}`);
  const { datasource, request, isUpdate } = call.value;
  const answer = await datasources.run(datasource, request, signal);
  if (answer.ok) return completed(outputOf(answer.value, isUpdate));
  const { code, message, retryable } = answer.error;
  if (code === 'ABORTED') return GIVEN_UP;
  return retryable ? failed(`${code}: ${message}`) : failedForGood(`${code}: ${message}`);
};
