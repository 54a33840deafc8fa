import { Buffer } from 'node:buffer';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { Agent, type Dispatcher, errors, request as send } from 'undici';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { OutboundHttp, OutboundProblem, OutboundRequest, OutboundResponse } from '../../ports/outbound-http.ts';
import { AddressRefused, guardedLookup, type ResolveHost, systemResolver } from './guarded-lookup.ts';
import { REDIRECTS_MAX, redirectOf, repeatedRequest } from './redirects.ts';
import { checkedUrl, type OutboundRules } from './url-guard.ts';

/** The most that an answer may hold, in bytes, before and after it is decompressed. */
export const RESPONSE_BYTES_MAX = 5 * 1_048_576;

/** Connections to one host at a time, and how long one that nobody uses is kept, in milliseconds. */
const CONNECTIONS_PER_HOST_MAX = 64;
const KEEP_ALIVE_MS = 10_000;
/** A pool belongs to a time to connect, so these are rounded up to one of a few, in milliseconds. */
const CONNECT_TIMEOUTS_MS = [250, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 30_000, 60_000] as const;

type Answer<T> = Result<T, OutboundProblem>;

const problem = (code: OutboundProblem['code'], message: string): Answer<never> => err({ code, message });

const gunzipped = promisify(gunzip);
const inflated = promisify(inflate);
const unbrotlied = promisify(brotliDecompress);

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  gzip: (bytes) => gunzipped(bytes, { maxOutputLength: RESPONSE_BYTES_MAX }),
  'x-gzip': (bytes) => gunzipped(bytes, { maxOutputLength: RESPONSE_BYTES_MAX }),
  deflate: (bytes) => inflated(bytes, { maxOutputLength: RESPONSE_BYTES_MAX }),
  br: (bytes) => unbrotlied(bytes, { maxOutputLength: RESPONSE_BYTES_MAX }),
  identity: async (bytes) => bytes,
};

const tooLarge = (): Answer<never> =>
  problem('RESPONSE_TOO_LARGE', `The answer is larger than ${RESPONSE_BYTES_MAX} bytes.`);

const decoded = async (bytes: Buffer, encoding: string): Promise<Answer<string>> => {
  const decode = DECODERS[encoding.trim().toLowerCase() || 'identity'];
  if (decode === undefined) return problem('CONNECTION_FAILED', 'The answer is encoded in a way that is not known.');
  try {
    return ok((await decode(bytes)).toString('utf8'));
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') return tooLarge();
    return problem('CONNECTION_FAILED', 'The answer could not be decompressed.');
  }
};

/** Reads as much as an answer may hold; what is more is never taken off the wire. */
const bytesOf = async (body: Dispatcher.ResponseData['body']): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    // Leaving the loop destroys the stream, and the connection with it.
    if (size > RESPONSE_BYTES_MAX) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
};

const headersOf = (given: Dispatcher.ResponseData['headers']): Record<string, readonly string[]> =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value : [value]]],
    ),
  );

const TIMEOUTS: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** Messages of libraries may hold what was sent; only their codes are told. */
const problemOf = (error: unknown, host: string, signals: Signals): Answer<never> => {
  if (signals.caller.aborted) return problem('ABORTED', 'The call was given up.');
  if (signals.total.aborted) return problem('TIMED_OUT', `${host} did not answer within the time for all of it.`);
  const cause = error instanceof AddressRefused ? error : (error as { cause?: unknown }).cause;
  if (cause instanceof AddressRefused) return problem('URL_NOT_ALLOWED', cause.message);
  const { code = 'unknown' } = error as { code?: string };
  if (error instanceof errors.InvalidArgumentError)
    return problem('INVALID_REQUEST', 'The request cannot be sent as it is.');
  if (TIMEOUTS.has(code)) return problem('TIMED_OUT', `${host} did not answer in time (${code}).`);
  return problem('CONNECTION_FAILED', `No answer from ${host} (${code}).`);
};

type Signals = Readonly<{ caller: AbortSignal; total: AbortSignal }>;

export type GuardedHttp = OutboundHttp & Readonly<{ close(): Promise<void> }>;

/** Makes the guarded door for HTTP calls. Connections are kept and used again, apart by host. Close it at shutdown. */
export const createGuardedHttp = (rules: OutboundRules, resolve: ResolveHost = systemResolver): GuardedHttp => {
  const agents = new Map<number, Agent>();
  const lookup = guardedLookup(rules.networks, resolve);
  const agentFor = (connectTimeoutMs: number): Agent => {
    const timeout = CONNECT_TIMEOUTS_MS.find((step) => step >= connectTimeoutMs) ?? 60_000;
    const present = agents.get(timeout);
    if (present !== undefined) return present;
    const agent = new Agent({
      allowH2: false,
      connections: CONNECTIONS_PER_HOST_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
      pipelining: 1,
      connect: { lookup, timeout },
    });
    agents.set(timeout, agent);
    return agent;
  };
  const sendOnce = async (url: URL, request: OutboundRequest, signals: Signals): Promise<Answer<OutboundResponse>> => {
    try {
      const response = await send(url, {
        dispatcher: agentFor(request.connectTimeoutMs),
        method: request.method as Dispatcher.HttpMethod,
        headers: request.headers.flat(),
        ...(request.body === undefined ? {} : { body: request.body }),
        headersTimeout: request.readTimeoutMs,
        bodyTimeout: request.readTimeoutMs,
        signal: AbortSignal.any([signals.caller, signals.total]),
      });
      const bytes = await bytesOf(response.body);
      if (bytes === undefined) return tooLarge();
      const headers = headersOf(response.headers);
      const body = await decoded(bytes, headers['content-encoding']?.join(',') ?? '');
      if (!body.ok) return body;
      return ok({ statusCode: response.statusCode, reasonPhrase: response.statusText, headers, body: body.value });
    } catch (error) {
      return problemOf(error, url.host, signals);
    }
  };
  const follow = async (request: OutboundRequest, signals: Signals): Promise<Answer<OutboundResponse>> => {
    let url = checkedUrl(request.url, rules);
    let next = request;
    for (let redirects = 0; ; redirects += 1) {
      if (!url.ok) return url;
      const response = await sendOnce(url.value, next, signals);
      if (!response.ok) return response;
      const location = redirectOf(response.value.statusCode, response.value.headers.location?.[0]);
      if (location === undefined) return response;
      if (redirects >= REDIRECTS_MAX) {
        return problem('TOO_MANY_REDIRECTS', `${url.value.host} led on more than ${REDIRECTS_MAX} times.`);
      }
      const to = checkedUrl(location, rules, url.value);
      if (!to.ok) return to;
      const repeated = repeatedRequest(next, response.value.statusCode, url.value, to.value);
      if (repeated === undefined) {
        return problem('URL_NOT_ALLOWED', `${url.value.host} led to another host, which must not get the body.`);
      }
      const { body: _body, ...rest } = next;
      next = { ...rest, ...repeated };
      url = to;
    }
  };
  return {
    send: async (request, caller) => {
      const timer = new AbortController();
      const timeout = setTimeout(() => timer.abort(), request.totalTimeoutMs);
      try {
        return await follow(request, { caller, total: timer.signal });
      } finally {
        clearTimeout(timeout);
      }
    },
    close: async () => {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
};
