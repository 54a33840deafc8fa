import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Instant, Namespace } from '../../domain/kernel/brand.ts';
import type { PayloadGrant, PayloadSeal } from '../../ports/payload-store.ts';

/** Keeps these tokens apart from whatever else the key is used for. */
const PURPOSE = 'rondo payload\n';

const claims = z.tuple([z.string(), z.string(), z.enum(['READ', 'WRITE']), z.int()]);

const grantOf = (text: string): PayloadGrant | undefined => {
  const parsed = claims.safeParse(JSON.parse(text));
  if (!parsed.success) return undefined;
  const [namespace, path, operation, expiresAt] = parsed.data;
  return { namespace: namespace as Namespace, path, operation, expiresAt: expiresAt as Instant };
};

/** A token is the grant itself and an HMAC of it: it needs no row of its own. */
export const createPayloadSeal = (key: string): PayloadSeal => {
  const macOf = (text: string): Buffer => createHmac('sha256', key).update(`${PURPOSE}${text}`).digest();
  return {
    token: ({ namespace, path, operation, expiresAt }) => {
      const text = JSON.stringify([namespace, path, operation, expiresAt]);
      return `${Buffer.from(text, 'utf8').toString('base64url')}.${macOf(text).toString('base64url')}`;
    },
    grantOf: (token) => {
      const [content = '', signature = '', ...more] = token.split('.');
      const text = Buffer.from(content, 'base64url').toString('utf8');
      const [given, right] = [Buffer.from(signature, 'base64url'), macOf(text)];
      const isOurs = more.length === 0 && given.length === right.length && timingSafeEqual(given, right);
      return isOurs ? grantOf(text) : undefined;
    },
  };
};
