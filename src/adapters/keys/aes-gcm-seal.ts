import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { SealProblem, SecretSeal } from '../../ports/secret-seal.ts';

export type SealKey = Readonly<{ id: string; bytes: Buffer }>;

const CIPHER = 'aes-256-gcm';
export const SEAL_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Names the form, so that another can come. */
const FORM = 'rs1';

/** Without a key there is nothing to seal with, and nothing to open. */
const keyless: SecretSeal = { keyId: undefined, seal: () => undefined, open: () => err('NO_KEY') };

/**
 * AES-256-GCM under a ring of keys: the first seals, all open. A sealed text is `rs1.<key>.<nonce, tag and text>`; what it
 * belongs to is authenticated with it, so that a copy at another place does not open.
 */
export const createSecretSeal = (ring: readonly SealKey[]): SecretSeal => {
  const [first] = ring;
  if (first === undefined) return keyless;
  const keys = new Map(ring.map(({ id, bytes }) => [id, bytes]));
  return {
    keyId: first.id,
    seal: (text, context) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, first.bytes, nonce).setAAD(Buffer.from(context, 'utf8'));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `${FORM}.${first.id}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
    },
    open: (sealed, context): Result<string, SealProblem> => {
      const [form, id = '', body = ''] = sealed.split('.');
      if (form !== FORM) return err('BROKEN');
      const key = keys.get(id);
      if (key === undefined) return err('NO_KEY');
      const bytes = Buffer.from(body, 'base64url');
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return err('BROKEN');
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(context, 'utf8'));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      try {
        const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
        return ok(text.toString('utf8'));
      } catch {
        return err('BROKEN');
      }
    },
  };
};
