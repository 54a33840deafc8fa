/** What this adapter throws for its own reasons; such an error passes through it unchanged. */
export class PostgresAdapterError extends Error {}

/** The database cannot be reached, is starting, shutting down or overloaded. The call may be repeated later. */
export class DatabaseUnavailableError extends PostgresAdapterError {
  override readonly name = 'DatabaseUnavailableError';
  readonly code = 'UNAVAILABLE';
}

/**
 * The database refused what our own code sent: a broken constraint, a value it cannot store, a statement that is wrong.
 * Repeating the call does not help. `sqlstate` is absent when the refusal did not come from the server.
 */
export class DatabaseDefectError extends PostgresAdapterError {
  override readonly name = 'DatabaseDefectError';
  readonly code = 'DATABASE_DEFECT';
  readonly sqlstate: string | undefined;

  constructor(message: string, options: { sqlstate?: string | undefined; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.sqlstate = options.sqlstate;
  }
}

export type SchemaErrorCode = 'SCHEMA_NEWER' | 'MIGRATION_CHANGED' | 'MIGRATION_FAILED';

/** The schema and this program do not fit together. */
export class SchemaError extends PostgresAdapterError {
  override readonly name = 'SchemaError';
  readonly code: SchemaErrorCode;

  constructor(code: SchemaErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The server may lose what it acknowledged. */
export class UnsafeDurabilityError extends PostgresAdapterError {
  override readonly name = 'UnsafeDurabilityError';
  readonly code = 'UNSAFE_DURABILITY';
}
