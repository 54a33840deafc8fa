import type { IncomingMessage } from 'node:http';
import type { JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import { parseStrictJson, type StrictJsonLimits } from '../../domain/kernel/strict-json.ts';
import type { ApiError } from './api-error.ts';
import { isLenientJsonContentType, isPlainEncoding } from './content-type.ts';
import { headerValues } from './headers.ts';

export type BodyRules = Readonly<{
  bytesMax: number;
  /** Without a byte arriving for so long the read ends with REQUEST_TIMEOUT. */
  idleTimeoutMs: number;
  json: StrictJsonLimits;
  isAccepted: (contentTypes: readonly string[]) => boolean;
  /** Taken as it is. */
  isText: boolean;
}>;

/** A body that was read: what it says, and the very bytes that said it. */
export type ReadBody = Readonly<{ value: JsonValue; bytes: Uint8Array }>;

const BYTE_ORDER_MARK = '\u{feff}';

/** Whether the request announces a body at all. */
export const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;

/**
 * Reads the body of a request, JSON unless it is taken as text. Errors: UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE (found while the bytes arrive, or from
 * the announced length), REQUEST_TIMEOUT, BAD_REQUEST (the client went away), and those of `parseStrictJson`.
 */
export const readBody = async (request: IncomingMessage, rules: BodyRules): Promise<Result<ReadBody, ApiError>> => {
  const types = headerValues(request, 'content-type');
  if (!rules.isAccepted(types)) {
    return refuse('UNSUPPORTED_MEDIA_TYPE', 'The content type must be application/json.');
  }
  if (!isPlainEncoding(headerValues(request, 'content-encoding'))) {
    return refuse('UNSUPPORTED_MEDIA_TYPE', 'Compressed bodies are not accepted.');
  }
  if (Number(request.headers['content-length'] ?? 0) > rules.bytesMax) return tooLarge(rules);
  const bytes = await readBytes(request, rules);
  if (!bytes.ok) return bytes;
  const parsed = rules.isText ? textOf(bytes.value, types, rules) : parseBody(bytes.value, rules);
  return parsed.ok ? ok({ value: parsed.value, bytes: bytes.value }) : parsed;
};

const refuse = (code: ApiError['code'], message: string) => err<ApiError>({ code, message });

const tooLarge = ({ bytesMax }: BodyRules) =>
  refuse('PAYLOAD_TOO_LARGE', `The body is larger than the ${bytesMax} bytes accepted here.`);

/** Collects the body; after a refusal it stops listening, and whoever answers discards the rest. */
const readBytes = (request: IncomingMessage, rules: BodyRules): Promise<Result<Buffer, ApiError>> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const idle = setTimeout(() => {
      const headers = { connection: 'close' };
      settle(err({ code: 'REQUEST_TIMEOUT', message: 'The body did not arrive in time.', headers }));
    }, rules.idleTimeoutMs);
    const onData = (chunk: Buffer) => {
      idle.refresh();
      size += chunk.length;
      if (size > rules.bytesMax) settle(tooLarge(rules));
      else chunks.push(chunk);
    };
    const onEnd = () => settle(ok(Buffer.concat(chunks, size)));
    const onBroken = () => settle(refuse('BAD_REQUEST', 'The body ended before it was complete.'));
    const settle = (result: Result<Buffer, ApiError>) => {
      clearTimeout(idle);
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      // A connection that breaks after the refusal must not become an unhandled error.
      request.on('error', () => undefined);
      resolve(result);
    };
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  });

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const decode = (bytes: Buffer): string | undefined => {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
};

const parseBody = (bytes: Buffer, { json }: BodyRules): Result<JsonValue, ApiError> => {
  const text = decode(bytes);
  if (text === undefined) return refuse('INVALID_JSON', 'The body is not UTF-8.');
  if (text.startsWith(BYTE_ORDER_MARK)) return refuse('INVALID_JSON', 'The body begins with a byte order mark.');
  const parsed = parseStrictJson(text, json);
  if (parsed.ok) return parsed;
  const { code, message, path, offset } = parsed.error;
  return err({ code, message, path, details: { offset } });
};

/** Text as it was sent, but for a JSON string, which Conductor's JavaScript client makes of any text: what it says. */
const textOf = (bytes: Buffer, types: readonly string[], rules: BodyRules): Result<JsonValue, ApiError> => {
  const text = decode(bytes);
  if (text === undefined || text.includes('\u0000')) return refuse('INVALID_STRING', 'The body is not UTF-8 text.');
  const parsed = types.length > 0 && isLenientJsonContentType(types) ? parseBody(bytes, rules) : undefined;
  return parsed?.ok && typeof parsed.value === 'string' ? parsed : ok(text);
};

/**
 * Throws the unread rest of a refused body away, so that the client gets to read the answer; beyond `bytesMax` the
 * connection is cut.
 */
export const discardBody = (request: IncomingMessage, bytesMax: number): void => {
  if (request.complete || request.destroyed) return;
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > bytesMax) request.socket.destroy();
  });
  request.resume();
};
