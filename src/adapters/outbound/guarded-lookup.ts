import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { isReachable, type ReachableNetworks } from './address-guard.ts';
import { notReachable } from './url-guard.ts';

export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>;

/** What the resolver of this machine knows, all of it. */
export const systemResolver: ResolveHost = (host) => lookup(host, { all: true, verbatim: true });

/** A name that leads, if only with one of its addresses, to where no call may go. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

const tested = async (
  host: string,
  networks: ReachableNetworks,
  resolve: ResolveHost,
): Promise<readonly LookupAddress[]> => {
  const addresses = await resolve(host);
  if (addresses.length === 0) throw new Error('the name has no address');
  // All of them: a name with one good address and one bad would else be let in by the luck of the order.
  if (!addresses.every(({ address }) => isReachable(address, networks))) throw new AddressRefused(notReachable(host));
  return addresses;
};

/**
 * The lookup of a connection: it resolves the name once and gives the socket the very addresses that were tested, so that
 * no second answer of the name server can come between.
 */
export const guardedLookup =
  (networks: ReachableNetworks, resolve: ResolveHost): LookupFunction =>
  (host, options, callback) => {
    tested(host, networks, resolve).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, [...addresses]);
        else callback(null, first?.address ?? '', first?.family);
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error('the name was not resolved'), '', 0),
    );
  };
