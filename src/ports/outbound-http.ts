import type { Result } from '../domain/kernel/result.ts';

/** One call to the outside. Times in milliseconds; `url` is text as it was given. */
export type OutboundRequest = Readonly<{
  url: string;
  method: string;
  headers: readonly (readonly [name: string, value: string])[];
  body?: string;
  /** Until there is a connection; until the next sign of life of the answer; until all of it is there. */
  connectTimeoutMs: number;
  readTimeoutMs: number;
  totalTimeoutMs: number;
}>;

export type OutboundResponse = Readonly<{
  statusCode: number;
  reasonPhrase: string;
  /** Names in lower case; several of one name in their order. */
  headers: Readonly<Record<string, readonly string[]>>;
  /** Text in UTF-8, decompressed. */
  body: string;
}>;

/** Why there is no answer. No message tells the path, the query or a header: a secret may stand there. */
export type OutboundProblem = Readonly<{
  code:
    | 'INVALID_REQUEST'
    | 'URL_NOT_ALLOWED'
    | 'TOO_MANY_REDIRECTS'
    | 'RESPONSE_TOO_LARGE'
    | 'CONNECTION_FAILED'
    | 'TIMED_OUT'
    /** Nothing was sent: the host has failed too often lately. */
    | 'CIRCUIT_OPEN'
    /** The caller gave it up. */
    | 'ABORTED';
  message: string;
  /** When it makes sense to ask again, where that is known. */
  retryAfterMs?: number;
}>;

/**
 * The door for HTTP calls that definitions ask for. Every address is looked at before anything is sent to it, at each
 * redirect again, and what was looked at is what is connected to.
 */
export interface OutboundHttp {
  send(request: OutboundRequest, signal: AbortSignal): Promise<Result<OutboundResponse, OutboundProblem>>;
}
