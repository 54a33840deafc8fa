import ipaddr from 'ipaddr.js';

/**
 * Which networks calls may reach. `public`: the internet alone. `loopback`: this machine too. `private`: also the networks
 * that are not routed on the internet.
 */
export type ReachableNetworks = 'public' | 'loopback' | 'private';

/** Where clouds keep the credentials of a machine: reachable in no setting, whatever range they stand in. */
const METADATA: ReadonlySet<string> = new Set([
  '169.254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd20:ce::254',
]);

const LOOPBACK: ReadonlySet<string> = new Set(['loopback']);
const PRIVATE: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat']);

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** Inside of it: protocol assignments with Teredo and ORCHID, documentation, and 6to4, which hides an IPv4 address. */
const NOT_GLOBAL = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((range) =>
  ipaddr.IPv6.parseCIDR(range),
);

const isPublicV6 = (address: ipaddr.IPv6): boolean =>
  address.match(GLOBAL_UNICAST) && !NOT_GLOBAL.some((range) => address.match(range));

/** The old notation of IPv4 inside of IPv6, which the parser takes for the mapped one; nothing is routed there. */
const IPV4_COMPATIBLE = /^(?!::ffff:)[0-9a-f:]*:\d+\.\d+\.\d+\.\d+$/i;

/** An IPv4 address that is mapped into IPv6 is judged as what it is. Undefined: no address at all. */
const parsed = (text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined => {
  if (text.includes('%') || IPV4_COMPATIBLE.test(text) || !ipaddr.isValid(text)) return undefined;
  return ipaddr.process(text);
};

/** Whether a call may go to this address. What is no address, and every range that is not known to be fine, is refused. */
export const isReachable = (text: string, networks: ReachableNetworks): boolean => {
  const address = parsed(text);
  if (address === undefined || METADATA.has(address.toString())) return false;
  const range = address.range();
  if (networks === 'loopback' && LOOPBACK.has(range)) return true;
  if (networks === 'private' && PRIVATE.has(range)) return true;
  if (address instanceof ipaddr.IPv6) return range === 'unicast' && isPublicV6(address);
  return range === 'unicast';
};
