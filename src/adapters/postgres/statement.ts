import { createSqlTag, type QuerySqlToken } from 'slonik';
import { z } from 'zod';
import type { ExecutionId, Instant, LeaseToken, Namespace } from '../../domain/kernel/brand.ts';
import { invariant } from '../../domain/kernel/invariant.ts';
import type { JsonObject, JsonValue } from '../../domain/kernel/json.ts';

export const sql = createSqlTag();

/** A statement and the shape of the rows it returns. */
export type Statement<Row> = QuerySqlToken<z.ZodType<Row>>;

/** Starts a statement that the server prepares once a connection: its text must be the same at each use. */
export const prepared = <Row>(name: string, row: z.ZodType<Row>) => sql.prepared(name, row);

const NOTHING = z.object({});

/** The same for a statement that returns no rows. */
export const preparedCommand = (name: string) => sql.prepared(name, NOTHING);

/** Starts a statement whose text depends on what is asked. */
export const composed = <Row>(row: z.ZodType<Row>) => sql.type(row);

/** The rows of a multi-row statement as one parameter: one text is cheaper to send than an array a column. */
export const jsonRows = (rows: readonly Readonly<Record<string, unknown>>[]): string => JSON.stringify(rows);

/**
 * A column of a multi-row statement as one parameter, for `string_to_array(${lines}, E'\\n')`. The server reads it in a third
 * of the time that it takes for `jsonRows`. No value may hold a line break: JSON text and names never do.
 */
export const lines = (values: readonly string[]): string => {
  for (const value of values) invariant(!value.includes('\n'), 'a line break in a value that is sent as a line');
  return values.join('\n');
};

/**
 * Parameters as the one row of a table `given`, to be joined laterally. The planner cannot look into a subquery that
 * `offset 0` keeps whole: else it sees how long an array is, finds a plan for this very length cheaper than the one it
 * kept, and plans anew at every use, which takes longer than most statements run.
 */
export const given = (values: ReturnType<typeof sql.fragment>) => sql.fragment`(select ${values} offset 0) as given`;

/** Numbers or ids as the text of an array. */
export const arrayText = (values: readonly (string | number)[]): string => `{${values.join(',')}}`;

/** An instant in a parameter or in `jsonRows`. */
export const timestamp = (at: Instant): string => new Date(at).toISOString();
export const timestampOrNull = (at: Instant | undefined): string | null => (at === undefined ? null : timestamp(at));

// Columns of results. NULL columns are absent from a row, so a nullable column is `exactOptional()`.
export const text = z.string();
export const count = z.number();
export const executionId = z.string() as unknown as z.ZodType<ExecutionId, string>;
export const namespaceName = z.string() as unknown as z.ZodType<Namespace, string>;
export const leaseToken = z.string() as unknown as z.ZodType<LeaseToken, string>;
export const instant = z.number() as unknown as z.ZodType<Instant, number>;
/** A text column with a closed vocabulary that a constraint or our own writes keep. */
export const word = <T extends string>() => z.string() as unknown as z.ZodType<T, string>;
export const json = z.string().transform((value): JsonValue => JSON.parse(value));
export const jsonObject = z.string().transform((value): JsonObject => JSON.parse(value));
/** Reads json that our own code wrote as the type it had. */
export const jsonOf = <T>() => z.string().transform((value): T => JSON.parse(value));
