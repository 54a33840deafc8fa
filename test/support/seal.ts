import { createSecretSeal } from '../../src/adapters/keys/aes-gcm-seal.ts';

export const sealKey = (id: string) => ({ id, bytes: Buffer.alloc(32, id) });

/** For tests that only need one. */
export const testSeal = createSecretSeal([sealKey('k1')]);
