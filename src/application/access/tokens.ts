import type { AccessTokens } from '../../ports/access-tokens.ts';
import type { UseCases } from '../use-cases.ts';
import type { AccessPorts } from './access-use-cases.ts';
import { prefixOfApiKey } from './api-key.ts';
import { authenticator, principalOf } from './authenticate.ts';

/** How long a token is good for, in seconds; Conductor's clients ask for another one before. */
export const TOKEN_TTL_SECONDS = 45 * 60;

/** Who a token of `rondo dev` is of: whether that is anybody is for the door to say. */
export const LOCAL_SUBJECT = 'local-administrator';

const KEY_SUBJECT = 'key:';
const KEY_ID = /^rk_[A-Za-z0-9]{12}$/;

type Access = UseCases['access'];
type TokenPorts = Omit<AccessPorts, 'ids'> & Readonly<{ tokens: AccessTokens }>;

/** The two halves of an API key, or its first half and the whole of it. */
const keyOfPair = (keyId: string, secret: string): string | undefined => {
  if (!KEY_ID.test(keyId)) return undefined;
  if (prefixOfApiKey(secret) === keyId) return secret;
  const key = `${keyId}_${secret}`;
  return prefixOfApiKey(key) === keyId ? key : undefined;
};

/**
 * An API key for a short time: its id is what stands before the second underscore, its secret what stands behind. The token
 * names the key, which is looked up at each call, so that it ends with it. Undefined for every cause of refusal alike.
 */
export const tokenIssuer =
  (ports: TokenPorts): Access['issueToken'] =>
  async (keyId, secret) => {
    const key = keyOfPair(keyId, secret) ?? '';
    const principal = await authenticator(ports)(key);
    return principal === undefined ? undefined : ports.tokens.issue(`${KEY_SUBJECT}${keyId}`, TOKEN_TTL_SECONDS);
  };

export const tokenChecker =
  ({ access, clock, tokens }: TokenPorts): Access['checkToken'] =>
  async (token) => {
    const checked = await tokens.check(token);
    if (checked.kind !== 'valid') return checked;
    if (checked.subject === LOCAL_SUBJECT) return { kind: 'local' };
    if (!checked.subject.startsWith(KEY_SUBJECT)) return { kind: 'invalid' };
    const row = await access.findApiKeyByPrefix(checked.subject.slice(KEY_SUBJECT.length));
    const principal = row === undefined ? undefined : await principalOf(access, row, clock.now());
    return principal === undefined ? { kind: 'invalid' } : { kind: 'principal', principal };
  };
