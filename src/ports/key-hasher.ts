/** One-way digests of API keys. Keys carry 256 random bits, so a fast hash is enough. */
export interface KeyHasher {
  /** SHA-256 of the UTF-8 text, as 64 hex digits. */
  digest(text: string): string;
  /** Compares two digests in a time that does not depend on where they differ. */
  equal(left: string, right: string): boolean;
}
