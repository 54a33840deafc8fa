import { createHash } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import type { AccessTokens, TokenCheck } from '../../ports/access-tokens.ts';
import type { Clock } from '../../ports/clock.ts';

const ALGORITHM = 'HS256';
const ISSUER = 'rondo';
const AUDIENCE = 'rondo';
const MS_PER_SECOND = 1_000;
/** Keeps what is signed here apart from whatever else a secret may ever be used for. */
const PURPOSE = 'rondo access token\n';

const keyOf = (secret: string): Uint8Array => createHash('sha256').update(`${PURPOSE}${secret}`).digest();

/** JSON Web Tokens under HMAC-SHA-256. The first secret signs, all are taken, so that they can be changed one by one. */
export const createJwtAccessTokens = (secrets: readonly [string, ...string[]], clock: Clock): AccessTokens => {
  const keys = secrets.map(keyOf);
  const [signing] = keys;
  if (signing === undefined) throw new Error('there is no secret to sign access tokens with');
  const now = (): number => Math.floor(clock.now() / MS_PER_SECOND);
  const checkWith = async (token: string, key: Uint8Array): Promise<TokenCheck> => {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: ['sub', 'exp'],
        currentDate: new Date(clock.now()),
      });
      return payload.sub === undefined ? { kind: 'invalid' } : { kind: 'valid', subject: payload.sub };
    } catch (error) {
      if (error instanceof errors.JWTExpired) return { kind: 'expired' };
      if (error instanceof errors.JOSEError) return { kind: 'invalid' };
      throw error;
    }
  };
  return {
    issue: (subject, ttlSeconds) =>
      new SignJWT()
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setSubject(subject)
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setIssuedAt(now())
        .setExpirationTime(now() + ttlSeconds)
        .sign(signing),
    check: async (token) => {
      for (const key of keys) {
        const checked = await checkWith(token, key);
        if (checked.kind !== 'invalid') return checked;
      }
      return { kind: 'invalid' };
    },
  };
};
