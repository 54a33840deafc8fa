import { type Backoff, backoffMs, pause } from './backoff.ts';
import { ApiError, TransportError } from './client-error.ts';

const TIMEOUT_MS_DEFAULT = 30_000;
const ATTEMPTS_MAX_DEFAULT = 4;
const BACKOFF: Backoff = { baseMs: 100, capMs: 5_000 };

export type HttpClientOptions = Readonly<{
  /** Where the server is, such as `http://127.0.0.1:8080`. */
  url: string;
  /** `default` unless told. */
  namespace?: string | undefined;
  apiKey?: string | undefined;
  timeoutMs?: number | undefined;
  /** Tries of one call in all; 1 never repeats. */
  attemptsMax?: number | undefined;
}>;

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export type CallOptions = Readonly<{
  query?: Query;
  /** A value to serialise. */
  body?: unknown;
  /** A body that is JSON text already; wins over `body`. */
  rawBody?: string;
  signal?: AbortSignal;
  /** For one try. */
  timeoutMs?: number;
  attemptsMax?: number;
  /** The server may see the call twice without harm; GET, PUT and DELETE always may. */
  idempotent?: boolean;
  headers?: Readonly<Record<string, string>>;
}>;

export type Exchange<T> = Readonly<{
  body: T;
  status: number;
  /** The server's clock when it answered, to the second: a lease is measured by one clock, never by two. */
  serverTimeMs: number | undefined;
}>;

const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);

const UNSENT_CAUSES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Speaks HTTP and JSON with one server, through the connection pool of Node's fetch. */
export class HttpClient {
  readonly url: string;
  readonly namespace: string;
  private readonly options: HttpClientOptions;

  /** Throws a TypeError when `url` is not an http(s) URL. */
  constructor(options: HttpClientOptions) {
    const url = URL.parse(options.url);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw new TypeError(`not an http or https URL: ${JSON.stringify(options.url)}`);
    }
    this.url = url.href.replace(/\/+$/, '');
    this.namespace = options.namespace ?? 'default';
    this.options = options;
  }

  /**
   * One call of the API; `path` is below the namespace unless it starts with `/v1`. Repeats with jittered back-off what
   * cannot have happened (connection refused), and for idempotent calls also what may have (503, broken connection).
   * @throws ApiError when the server refuses
   * @throws TransportError when no answer arrives
   * @throws the signal's reason when it aborts
   */
  async call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    return (await this.exchange<T>(method, path, options)).body;
  }

  /** Like `call`, with the status and the server's time. */
  async exchange<T>(method: string, path: string, options: CallOptions = {}): Promise<Exchange<T>> {
    const attemptsMax = options.attemptsMax ?? this.options.attemptsMax ?? ATTEMPTS_MAX_DEFAULT;
    const idempotent = options.idempotent ?? IDEMPOTENT_METHODS.has(method);
    const signal = options.signal ?? new AbortController().signal;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.exchangeOnce<T>(method, path, options);
      } catch (error) {
        if (attempt >= attemptsMax || !mayRepeat(error, idempotent)) throw error;
        const toldMs = error instanceof ApiError ? error.retryAfterMs : undefined;
        await pause(Math.min(toldMs ?? backoffMs(attempt, BACKOFF), BACKOFF.capMs), signal);
        signal.throwIfAborted();
      }
    }
  }

  /**
   * Opens a response to be read piece by piece, such as a stream of events. The caller ends it through `signal`;
   * the time-out covers the headers only.
   */
  async open(path: string, options: CallOptions & Readonly<{ signal: AbortSignal }>): Promise<Response> {
    const opening = new AbortController();
    const timer = setTimeout(() => opening.abort(timedOut(this.timeoutMs(options))), this.timeoutMs(options));
    try {
      const response = await this.send('GET', path, options, AbortSignal.any([options.signal, opening.signal]));
      if (!response.ok) throw refusal(response, await response.text());
      return response;
    } catch (error) {
      throw this.translate(error, options.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  private async exchangeOnce<T>(method: string, path: string, options: CallOptions): Promise<Exchange<T>> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(timedOut(this.timeoutMs(options))), this.timeoutMs(options));
    const signals = options.signal === undefined ? [timeout.signal] : [timeout.signal, options.signal];
    try {
      const response = await this.send(method, path, options, AbortSignal.any(signals));
      const text = await response.text();
      if (!response.ok) throw refusal(response, text);
      const date = Date.parse(response.headers.get('date') ?? '');
      return {
        body: parseBody(response.status, text) as T,
        status: response.status,
        serverTimeMs: Number.isNaN(date) ? undefined : date,
      };
    } catch (error) {
      throw this.translate(error, options.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  private async send(method: string, path: string, options: CallOptions, signal: AbortSignal): Promise<Response> {
    const body = options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const headers: Record<string, string> = { accept: 'application/json', ...options.headers };
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (this.options.apiKey !== undefined) headers.authorization = `Bearer ${this.options.apiKey}`;
    return fetch(this.address(path, options.query), {
      method,
      headers,
      signal,
      redirect: 'error',
      ...(body === undefined ? {} : { body }),
    });
  }

  private address(path: string, query: Query = {}): string {
    const below = path.startsWith('/v1/') ? path : `/v1/ns/${encodeURIComponent(this.namespace)}${path}`;
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) search.set(name, String(value));
    }
    return `${this.url}${below}${search.size === 0 ? '' : `?${search}`}`;
  }

  private timeoutMs(options: CallOptions): number {
    return options.timeoutMs ?? this.options.timeoutMs ?? TIMEOUT_MS_DEFAULT;
  }

  private translate(error: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) return signal.reason;
    if (error instanceof ApiError || error instanceof TransportError) return error;
    const cause = error instanceof Error ? error.cause : undefined;
    const causeCode = codeOf(cause);
    if (causeCode !== undefined && UNSENT_CAUSES.has(causeCode)) {
      return new TransportError('CONNECTION_FAILED', `cannot reach ${this.url} (${causeCode})`, { cause: error });
    }
    const why = cause instanceof Error ? cause.message : error instanceof Error ? error.message : String(error);
    return new TransportError('CONNECTION_LOST', `the connection to ${this.url} broke: ${why}`, { cause: error });
  }
}

const timedOut = (timeoutMs: number) => new TransportError('TIMEOUT', `no answer within ${timeoutMs} ms`);

const codeOf = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null && 'code' in value && typeof value.code === 'string'
    ? value.code
    : undefined;

const mayRepeat = (error: unknown, idempotent: boolean): boolean => {
  if (error instanceof ApiError) return idempotent && error.status === 503;
  if (!(error instanceof TransportError)) return false;
  return error.code === 'CONNECTION_FAILED' || (error.code === 'CONNECTION_LOST' && idempotent);
};

const parseBody = (status: number, text: string): unknown => {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TransportError('INVALID_RESPONSE', `the answer (${status}) is not JSON`, { cause, status });
  }
};

const refusal = (response: Response, text: string): ApiError | TransportError => {
  const { status } = response;
  let envelope: unknown;
  try {
    envelope = JSON.parse(text);
  } catch {
    envelope = undefined;
  }
  if (!isEnvelope(envelope)) {
    return new TransportError('INVALID_RESPONSE', `answered ${status} without the error envelope of the API`, {
      status,
    });
  }
  const { error: code, message, path, details, requestId } = envelope;
  return new ApiError({ code, message, status, path, details, requestId, retryAfterMs: retryAfterMsOf(response) });
};

const retryAfterMsOf = (response: Response): number | undefined => {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
};

type Envelope = { error: string; message: string; path?: string; details?: unknown; requestId?: string };

const isEnvelope = (value: unknown): value is Envelope =>
  typeof value === 'object' &&
  value !== null &&
  'error' in value &&
  typeof value.error === 'string' &&
  'message' in value &&
  typeof value.message === 'string';
