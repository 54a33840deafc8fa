import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { OutboundRequest } from '../../ports/outbound-http.ts';

/** Conductor's time-outs where the request names none, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000;
const READ_TIMEOUT_MS = 3_000;
/** At least so long an answer may take in all, unless the request says otherwise. */
const TOTAL_TIMEOUT_MS = 60_000;
/** The longest that a request may ask for. */
export const CALL_TIMEOUT_MS_MAX = 600_000;

/** Header lines of one request. */
export const REQUEST_HEADERS_MAX = 100;
export const REQUEST_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const METHODS: ReadonlySet<string> = new Set(REQUEST_METHODS);
const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

/** What HTTP itself says with these is ours to say: they frame the message, or name the host that was looked at. */
const OURS: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'proxy-authorization',
  'proxy-connection',
]);

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/;
/** No control character but the tab: nothing can begin another line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
const HEADER_VALUE = /^[^\u0000-\u0008\u000a-\u001f\u007f\u0100-\uffff]*$/;

type Headers = readonly (readonly [string, string])[];

/** A request as a task gives it: Conductor's nesting in `http_request`, or the same fields side by side. */
export type HttpCall = Readonly<{
  request: OutboundRequest;
  /** Says of a status code whether the call did what it was to do. */
  isAccepted: (statusCode: number) => boolean;
  isAsync: boolean;
}>;

type Read<T> = Result<T, string>;

const isGiven = (value: JsonValue | undefined): value is JsonValue =>
  value !== undefined && value !== null && value !== '';

const scalarText = (value: JsonValue): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;

const listOf = (value: JsonValue): readonly JsonValue[] => (Array.isArray(value) ? value : [value]);

const urlOf = (given: JsonObject): Read<string> => {
  const base = isGiven(given.uri) ? given.uri : given.url;
  if (typeof base !== 'string' || base.trim() === '') return err('The request needs a uri.');
  const query = isGiven(given.query) ? given.query : given.queryParams;
  if (!isGiven(query)) return ok(base.trim());
  if (!isJsonObject(query)) return err('query is an object of names and values.');
  const url = URL.parse(base.trim());
  if (url === null) return err('The uri is no absolute URL.');
  for (const [name, value] of Object.entries(query)) {
    for (const one of listOf(value)) {
      const text = one === null ? undefined : scalarText(one);
      if (text !== undefined) url.searchParams.append(name, text);
    }
  }
  return ok(url.href);
};

const methodOf = ({ method }: JsonObject): Read<string> => {
  if (!isGiven(method)) return ok('GET');
  const name = typeof method === 'string' ? method.trim().toUpperCase() : '';
  return METHODS.has(name) ? ok(name) : err(`method is one of ${REQUEST_METHODS.join(', ')}.`);
};

const headersOf = ({ headers }: JsonObject): Read<Headers> => {
  if (!isGiven(headers)) return ok([]);
  if (!isJsonObject(headers)) return err('headers is an object of names and values.');
  const lines: (readonly [string, string])[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) return err('A header has a name that no header can have.');
    if (OURS.has(name.toLowerCase())) return err(`The header ${name} cannot be set.`);
    for (const one of listOf(value)) {
      if (one === null) continue;
      const text = scalarText(one);
      if (text === undefined || !HEADER_VALUE.test(text))
        return err(`The header ${name} has a value that cannot be sent.`);
      lines.push([name, text]);
    }
  }
  return lines.length > REQUEST_HEADERS_MAX ? err(`A request has at most ${REQUEST_HEADERS_MAX} headers.`) : ok(lines);
};

const formText = (body: JsonObject): string => {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    for (const one of listOf(value)) form.append(name, scalarText(one) ?? JSON.stringify(one));
  }
  return form.toString();
};

const bodyText = (body: JsonValue, contentType: string): string => {
  if (typeof body === 'string') return body;
  return contentType.startsWith(FORM) && isJsonObject(body) ? formText(body) : JSON.stringify(body);
};

const named = (headers: Headers, name: string): string | undefined =>
  headers.find(([header]) => header.toLowerCase() === name)?.[1];

/** accept and contentType are headers by another name; one that is among the headers counts. */
const withTypes = (given: JsonObject, headers: Headers, hasBody: boolean): Headers => {
  const accept = isGiven(given.accept) ? listOf(given.accept).filter(isGiven).map(String).join(', ') : JSON_TYPE;
  const contentType = isGiven(given.contentType) ? String(given.contentType) : JSON_TYPE;
  return [
    ...headers,
    ...(named(headers, 'accept') === undefined ? [['accept', accept] as const] : []),
    ...(hasBody && named(headers, 'content-type') === undefined ? [['content-type', contentType] as const] : []),
  ];
};

const timeoutOf = (given: JsonObject, names: readonly string[], otherwise: number): Read<number> => {
  const value = names.map((name) => given[name]).find(isGiven);
  if (value === undefined) return ok(otherwise);
  const ms = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0 && ms <= CALL_TIMEOUT_MS_MAX) {
    return ok(ms === 0 ? otherwise : Math.round(ms));
  }
  return err(`${names[0]} is a number of milliseconds up to ${CALL_TIMEOUT_MS_MAX}.`);
};

/** Codes and classes such as `2xx`; without any a call is accepted by a 2xx. */
const acceptedOf = ({ acceptedStatusCodes }: JsonObject): Read<HttpCall['isAccepted']> => {
  if (!isGiven(acceptedStatusCodes)) return ok((code) => code >= 200 && code < 300);
  const patterns = listOf(acceptedStatusCodes).map((value) => String(value).trim().toLowerCase());
  if (patterns.length === 0 || !patterns.every((text) => /^[1-5](\d\d|xx)$/.test(text))) {
    return err('acceptedStatusCodes is a list of codes, such as 404, or classes, such as "2xx".');
  }
  return ok((code) => patterns.some((text) => text === String(code) || text === `${Math.floor(code / 100)}xx`));
};

/** Reads what a task says about its call. The error is a sentence for people. */
export const httpCallOf = (input: JsonObject): Read<HttpCall> => {
  const nested = input.http_request;
  const given = isJsonObject(nested) ? { ...input, ...nested } : input;
  const url = urlOf(given);
  if (!url.ok) return url;
  const method = methodOf(given);
  if (!method.ok) return method;
  const headers = headersOf(given);
  if (!headers.ok) return headers;
  const connect = timeoutOf(given, ['connectionTimeOut', 'connectTimeoutMs'], CONNECT_TIMEOUT_MS);
  if (!connect.ok) return connect;
  const read = timeoutOf(given, ['readTimeOut', 'readTimeoutMs'], READ_TIMEOUT_MS);
  if (!read.ok) return read;
  const least = Math.max(TOTAL_TIMEOUT_MS, connect.value + read.value);
  const total = timeoutOf(given, ['totalTimeOut', 'totalTimeoutMs'], least);
  if (!total.ok) return total;
  const isAccepted = acceptedOf(given);
  if (!isAccepted.ok) return isAccepted;
  const hasBody = isGiven(given.body) && method.value !== 'GET' && method.value !== 'HEAD';
  const lines = withTypes(given, headers.value, hasBody);
  return ok({
    request: {
      url: url.value,
      method: method.value,
      headers: lines,
      ...(hasBody ? { body: bodyText(given.body ?? null, named(lines, 'content-type') ?? JSON_TYPE) } : {}),
      connectTimeoutMs: connect.value,
      readTimeoutMs: read.value,
      totalTimeoutMs: total.value,
    },
    isAccepted: isAccepted.value,
    isAsync: given.asyncComplete === true || given.asyncComplete === 'true',
  });
};
