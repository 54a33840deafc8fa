import { createHash, timingSafeEqual } from 'node:crypto';
import type { KeyHasher } from '../../ports/key-hasher.ts';

/** The key hasher over node:crypto. */
export const sha256KeyHasher: KeyHasher = {
  digest: (text) => createHash('sha256').update(text, 'utf8').digest('hex'),
  equal: (left, right) => {
    const [a, b] = [Buffer.from(left, 'utf8'), Buffer.from(right, 'utf8')];
    return a.length === b.length && timingSafeEqual(a, b);
  },
};
