import type { Result } from '../domain/kernel/result.ts';

/** Why something that was sealed cannot be read: the key is not in the ring, or the seal is broken. */
export type SealProblem = 'NO_KEY' | 'BROKEN';

/** Seals texts with the first key of a ring; every key of it opens. Without a ring nothing can be sealed. */
export interface SecretSeal {
  /** The key that seals; undefined: there is no ring. */
  readonly keyId: string | undefined;
  /** `context` is what the text belongs to: it opens nowhere else. Undefined: there is no ring. */
  seal(text: string, context: string): string | undefined;
  open(sealed: string, context: string): Result<string, SealProblem>;
}
