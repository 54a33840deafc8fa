/** The server answered with a refusal. `code` is stable, `message` is for people. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: string;
  readonly status: number;
  readonly path: string | undefined;
  readonly details: unknown;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    facts: Readonly<{
      code: string;
      message: string;
      status: number;
      path?: string | undefined;
      details?: unknown;
      requestId?: string | undefined;
      retryAfterMs?: number | undefined;
    }>,
  ) {
    super(facts.message);
    this.code = facts.code;
    this.status = facts.status;
    this.path = facts.path;
    this.details = facts.details;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

export type TransportErrorCode =
  /** Nothing reached the server: a repetition is safe for every call. */
  | 'CONNECTION_FAILED'
  /** The connection broke while the call was under way: the server may or may not have done it. */
  | 'CONNECTION_LOST'
  | 'TIMEOUT'
  /** What answered does not speak this API: a proxy, another program, or a cut-off body. */
  | 'INVALID_RESPONSE';

/** The server's answer did not arrive. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly code: TransportErrorCode;
  readonly status: number | undefined;

  constructor(code: TransportErrorCode, message: string, options: { cause?: unknown; status?: number } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status;
  }
}

/** True where the same call may succeed later: no answer, or one that says "not now". */
export const isTransient = (error: unknown): boolean =>
  error instanceof TransportError ||
  (error instanceof ApiError && (error.status >= 500 || error.status === 429 || error.status === 408));
