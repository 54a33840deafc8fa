import type { Instant } from '../../domain/kernel/brand.ts';
import type { AccessStore, ApiKeyRow } from '../../ports/access-store.ts';
import type { Principal, UseCases } from '../use-cases.ts';
import type { AccessPorts } from './access-use-cases.ts';
import { prefixOfApiKey } from './api-key.ts';

/** How old "last used" may be: a busy key would else cost one write a request. */
const LAST_USED_PRECISION_MS = 60_000;

/**
 * The principal of an API key, or undefined, for every cause alike: malformed, unknown, wrong secret, expired, revoked.
 * An unknown prefix is compared as well, with a digest that nothing has, so that the time does not tell the causes apart.
 */
export const authenticator =
  ({ access, clock, hasher }: Omit<AccessPorts, 'ids'>): UseCases['access']['authenticate'] =>
  async (key) => {
    const prefix = prefixOfApiKey(key);
    if (prefix === undefined) return undefined;
    const row = await access.findApiKeyByPrefix(prefix);
    const matches = hasher.equal(hasher.digest(key), row?.digest ?? hasher.digest(''));
    return row === undefined || !matches ? undefined : principalOf(access, row, clock.now());
  };

/** Who comes with a key that was proven; undefined when it has expired or was revoked. */
export const principalOf = async (
  access: Pick<AccessStore, 'touchApiKey'>,
  row: ApiKeyRow,
  now: Instant,
): Promise<Principal | undefined> => {
  if (!isLive(row, now)) return undefined;
  if (now - (row.lastUsedAt ?? 0) > LAST_USED_PRECISION_MS) await access.touchApiKey(row.id);
  return { id: `key:${row.id}`, namespace: row.namespace, scopes: row.scopes };
};

const isLive = (row: ApiKeyRow, now: Instant): boolean =>
  row.revokedAt === undefined && (row.expiresAt === undefined || row.expiresAt > now);
