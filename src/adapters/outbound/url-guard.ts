import { isIP } from 'node:net';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { OutboundProblem } from '../../ports/outbound-http.ts';
import { isReachable, type ReachableNetworks } from './address-guard.ts';

export type OutboundRules = Readonly<{
  networks: ReachableNetworks;
  /** Hosts that may be called: `api.example.com`, `*.example.com`, either with `:port`. Empty: every host. */
  hosts: readonly string[];
}>;

const refused = (message: string): Result<URL, OutboundProblem> => err({ code: 'URL_NOT_ALLOWED', message });

/** The host as an address, without the brackets of IPv6; undefined: it is a name. */
export const addressOf = ({ hostname }: URL): string | undefined => {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
};

const portOf = ({ port, protocol }: URL): string => (port === '' ? (protocol === 'https:' ? '443' : '80') : port);

const matchesHost = (url: URL, allowed: string): boolean => {
  const [, pattern = '', port] = /^(.*?)(?::(\d+))?$/.exec(allowed.toLowerCase()) ?? [];
  if (port !== undefined && port !== portOf(url)) return false;
  const host = url.hostname.replace(/\.$/, '');
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
};

/**
 * Reads a URL that a definition or a redirect gave, and says whether it may be called at all. The address of a name is
 * judged when it is known; one that is written out, in whatever notation, is judged here. Errors: INVALID_REQUEST,
 * URL_NOT_ALLOWED.
 */
export const checkedUrl = (text: string, rules: OutboundRules, base?: URL): Result<URL, OutboundProblem> => {
  const url = URL.parse(text, base?.href);
  if (url === null) return err({ code: 'INVALID_REQUEST', message: 'The uri is no absolute URL.' });
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return refused(`Only http and https can be called, not ${url.protocol.slice(0, 20)}`);
  }
  if (url.username !== '' || url.password !== '') return refused('A uri must not carry credentials.');
  if (url.hostname === '') return refused('The uri names no host.');
  if (rules.hosts.length > 0 && !rules.hosts.some((allowed) => matchesHost(url, allowed))) {
    return refused(`The host ${url.host} is not among those that this server may call.`);
  }
  const address = addressOf(url);
  if (address !== undefined && !isReachable(address, rules.networks)) return refused(notReachable(url.hostname));
  return ok(url);
};

export const notReachable = (host: string): string =>
  `The host ${host} is in a network that this server does not call.`;
