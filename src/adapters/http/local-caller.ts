import type { IncomingMessage } from 'node:http';
import { headerValues } from './headers.ts';

const LOOPBACK_ADDRESS = /^(?:127(?:\.\d{1,3}){3}|::1|::ffff:127(?:\.\d{1,3}){3})$/;
const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]'];
const HTTP_PORT = 80;
/** Present when something stands between: then the peer's address says nothing about the caller. */
const FORWARDING_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'via'];
const OWN_SITES = ['same-origin', 'none'];

/** `local`: a program or page of this machine. `crossSite`: a web page that merely reached it. `remote`: anyone else. */
export type CallerKind = 'local' | 'crossSite' | 'remote';

/**
 * Where a request comes from. A browser can be led to send requests to loopback by any page and by a name that was rebound
 * to 127.0.0.1; the Host and Origin headers, which no page can set, tell those apart.
 */
export const callerKind = (request: IncomingMessage): CallerKind => {
  const { remoteAddress, localPort } = request.socket;
  if (!LOOPBACK_ADDRESS.test(remoteAddress ?? '')) return 'remote';
  if (FORWARDING_HEADERS.some((name) => headerValues(request, name).length > 0)) return 'remote';
  const hosts = LOOPBACK_NAMES.flatMap((name) => authoritiesOf(name, localPort ?? 0));
  return isOnlyOneOf(headerValues(request, 'host'), hosts) && isOwnPage(request, hosts) ? 'local' : 'crossSite';
};

const authoritiesOf = (name: string, port: number): readonly string[] =>
  port === HTTP_PORT ? [name, `${name}:${port}`] : [`${name}:${port}`];

const isOnlyOneOf = (values: readonly string[], allowed: readonly string[]): boolean =>
  values.length === 1 && values.every((value) => allowed.includes(value.toLowerCase()));

const isOwnPage = (request: IncomingMessage, hosts: readonly string[]): boolean => {
  const origins = headerValues(request, 'origin');
  const sites = headerValues(request, 'sec-fetch-site');
  const ownOrigins = hosts.map((host) => `http://${host}`);
  return (
    (origins.length === 0 || isOnlyOneOf(origins, ownOrigins)) && (sites.length === 0 || isOnlyOneOf(sites, OWN_SITES))
  );
};
