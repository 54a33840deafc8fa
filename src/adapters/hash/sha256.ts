import { createHash } from 'node:crypto';
import type { ContentHasher } from '../../ports/content-hasher.ts';

export const sha256: ContentHasher = (text) => createHash('sha256').update(text, 'utf8').digest('hex');
