import type { Namespace } from '../../domain/kernel/brand.ts';
import { err, ok } from '../../domain/kernel/result.ts';
import type { AccessStore, ApiKeyRow } from '../../ports/access-store.ts';
import type { AccessTokens } from '../../ports/access-tokens.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { KeyHasher } from '../../ports/key-hasher.ts';
import type { ApiKeySummary, UseCases } from '../use-cases.ts';
import { newApiKey } from './api-key.ts';
import { authenticator } from './authenticate.ts';
import { isGrant } from './scopes.ts';
import { LOCAL_SUBJECT, TOKEN_TTL_SECONDS, tokenChecker, tokenIssuer } from './tokens.ts';

export type AccessPorts = Readonly<{ access: AccessStore; ids: Ids; clock: Clock; hasher: KeyHasher }>;

type Access = UseCases['access'];

/** What needs no tokens. */
export const createKeyUseCases = (
  ports: AccessPorts,
): Omit<Access, 'issueToken' | 'issueLocalToken' | 'checkToken'> => ({
  createApiKey: createApiKey(ports),
  listApiKeys: async (namespace) => ok((await ports.access.listApiKeys(namespace)).map(summaryOf)),
  revokeApiKey: async (namespace, id) =>
    (await ports.access.revokeApiKey(namespace, id))
      ? ok(null)
      : err({ code: 'NOT_FOUND', message: 'There is no such API key.' }),
  authenticate: authenticator(ports),
  createNamespace: createNamespace(ports.access),
  listNamespaces: async () => ok(await ports.access.listNamespaces()),
  getQuotas: async (namespace) => ok(await ports.access.findQuotas(namespace)),
  putQuotas: async (namespace, quotas) => {
    await ports.access.putQuotas(namespace, quotas);
    return ok(quotas);
  },
  namespaceExists: (namespace) => ports.access.namespaceExists(namespace),
});

/** The use cases of API keys, tokens and namespaces. */
export const createAccessUseCases = (ports: AccessPorts & Readonly<{ tokens: AccessTokens }>): Access => ({
  ...createKeyUseCases(ports),
  issueToken: tokenIssuer(ports),
  issueLocalToken: () => ports.tokens.issue(LOCAL_SUBJECT, TOKEN_TTL_SECONDS),
  checkToken: tokenChecker(ports),
});

/** Makes a key with the asked grants. VALIDATION_FAILED for a grant nobody knows or an expiry that has passed, NOT_FOUND without the namespace. */
const createApiKey =
  ({ access, ids, clock, hasher }: AccessPorts): Access['createApiKey'] =>
  async (namespace, { name, scopes, expiresAt }) => {
    const unknown = scopes.findIndex((scope) => !isGrant(scope));
    if (unknown >= 0)
      return invalid(`scopes[${unknown}]`, 'This is not a scope; scopes are resource:action[:name][:*] or admin.');
    const now = clock.now();
    if (expiresAt !== undefined && expiresAt <= now) return invalid('expiresAt', 'The key would have expired already.');
    if (!(await access.namespaceExists(namespace)))
      return err({ code: 'NOT_FOUND', message: 'There is no such namespace.' });
    const { key, prefix } = newApiKey(ids);
    // A UUIDv7 like every id the server makes: keys list in the order they were made.
    const id: string = ids.executionId();
    const row = { id, namespace, name, prefix, digest: hasher.digest(key), scopes, createdAt: now };
    await access.putApiKey(expiresAt === undefined ? row : { ...row, expiresAt });
    return ok({ id, key, scopes });
  };

const createNamespace =
  (access: AccessStore): Access['createNamespace'] =>
  async (namespace: Namespace) =>
    (await access.createNamespace(namespace))
      ? ok(null)
      : err({ code: 'ALREADY_EXISTS', message: 'There is a namespace of this name already.', path: 'name' });

const invalid = (path: string, message: string) => err({ code: 'VALIDATION_FAILED', message, path } as const);

const summaryOf = ({
  id,
  name,
  prefix,
  scopes,
  createdAt,
  expiresAt,
  lastUsedAt,
  revokedAt,
}: ApiKeyRow): ApiKeySummary => ({
  id,
  name,
  prefix,
  scopes,
  createdAt,
  ...(expiresAt !== undefined && { expiresAt }),
  ...(lastUsedAt !== undefined && { lastUsedAt }),
  revoked: revokedAt !== undefined,
});
