import type { OutboundRequest } from '../../ports/outbound-http.ts';

export const REDIRECTS_MAX = 3;

/** Where an answer sends the caller; undefined: nowhere. */
export const redirectOf = (statusCode: number, location: string | undefined): string | undefined =>
  [301, 302, 303, 307, 308].includes(statusCode) && location !== undefined && location !== '' ? location : undefined;

/** What another host may see of a request: nothing that could be a credential, by whatever name. */
const HARMLESS: ReadonlySet<string> = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

type Repeated = Pick<OutboundRequest, 'method' | 'headers' | 'body'>;

const withoutBody = ({ method, headers }: Repeated): Repeated => ({
  method: method === 'HEAD' ? 'HEAD' : 'GET',
  headers: headers.filter(([name]) => name.toLowerCase() !== 'content-type'),
});

/** The request as it is repeated to where an answer led; undefined: it must not be, since another host would get its body. */
export const repeatedRequest = (request: Repeated, statusCode: number, from: URL, to: URL): Repeated | undefined => {
  const keepsMethod = statusCode === 307 || statusCode === 308 || request.method === 'GET' || request.method === 'HEAD';
  const next = keepsMethod ? request : withoutBody(request);
  if (from.origin === to.origin) return next;
  if (next.body !== undefined) return undefined;
  return { ...next, headers: next.headers.filter(([name]) => HARMLESS.has(name.toLowerCase())) };
};
