import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiError } from './api-error.ts';
import { errorBody, statusOf } from './error-response.ts';
import { SECURITY_HEADERS } from './headers.ts';

/** How long a closed connection is still read, so that the client gets to see the answer before a reset. */
const LINGER_MS = 1_000;

/** What Node's parser says of a request that never became one. */
export type ParserError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

/** A request line has no colon-space and no line end; header lines have both. */
const isWithinRequestLine = (packet: Buffer | undefined): boolean =>
  packet !== undefined && !packet.includes('\r\n') && !packet.includes(': ');

const errorOf = ({ code, rawPacket }: ParserError): ApiError => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { code: 'REQUEST_TIMEOUT', message: 'The request did not arrive in time.' };
  if (code !== 'HPE_HEADER_OVERFLOW')
    return { code: 'BAD_REQUEST', message: 'This is not a well-formed HTTP request.' };
  return isWithinRequestLine(rawPacket)
    ? { code: 'URI_TOO_LONG', message: 'The request target is too long.' }
    : { code: 'HEADERS_TOO_LARGE', message: 'The headers are too large.' };
};

const answerText = (error: ApiError): string => {
  const requestId = randomUUID();
  const status = statusOf(error);
  const body = JSON.stringify(errorBody(error, requestId));
  const headers = [
    ...SECURITY_HEADERS,
    ['x-request-id', requestId],
    ['content-type', 'application/json; charset=utf-8'],
  ];
  const lines = [...headers, ['content-length', String(Buffer.byteLength(body))], ['connection', 'close']];
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...lines.map(([name, value]) => `${name}: ${value}`),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
};

/** Answers what could not be parsed with the envelope all the same, and closes. */
export const answerBrokenRequest = (error: ParserError, socket: Socket): void => {
  socket.end(answerText(errorOf(error)));
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
};
