import type { IncomingMessage } from 'node:http';

/**
 * The values of a header as they were sent, one each. Node keeps the first of some repeated headers and joins others, which
 * would let two readers of one request disagree.
 */
export const headerValues = (request: IncomingMessage, name: string): readonly string[] => {
  const { rawHeaders } = request;
  const values: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '');
  }
  return values;
};

/** Bytes of all header lines, as they were sent. */
export const headerBytes = (request: IncomingMessage): number =>
  request.rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);

/** The headers of every answer of the API: nothing in it is a page, and nothing may be kept. */
export const SECURITY_HEADERS: readonly (readonly [string, string])[] = [
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['x-content-type-options', 'nosniff'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['cache-control', 'no-store'],
];
