import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Instant, Namespace } from '../../domain/kernel/brand.ts';
import type { PayloadGrant, PayloadSeal } from '../../ports/payload-store.ts';

/** Keeps these tokens apart from whatever else the key is used for. */
const PURPOSE = 'rondo payload\n';

type Claims = readonly [Namespace, string, PayloadGrant['operation'], Instant];

/** Only of a text that this seal has made. */
const grantIn = (text: string): PayloadGrant => {
  const [namespace, path, operation, expiresAt] = JSON.parse(text) as Claims;
  return { namespace, path, operation, expiresAt };
};

/** A token is the grant itself and an HMAC of it: it needs no row of its own. */
export const createPayloadSeal = (key: string): PayloadSeal => {
  const macOf = (text: string): Buffer => createHmac('sha256', key).update(`${PURPOSE}${text}`).digest();
  return {
    token: ({ namespace, path, operation, expiresAt }) => {
      const claims: Claims = [namespace, path, operation, expiresAt];
      const text = JSON.stringify(claims);
      return `${Buffer.from(text, 'utf8').toString('base64url')}.${macOf(text).toString('base64url')}`;
    },
    grantOf: (token) => {
      const [content = '', signature = '', ...more] = token.split('.');
      const text = Buffer.from(content, 'base64url').toString('utf8');
      const [given, right] = [Buffer.from(signature, 'base64url'), macOf(text)];
      const isOurs = more.length === 0 && given.length === right.length && timingSafeEqual(given, right);
      return isOurs ? grantIn(text) : undefined;
    },
  };
};
