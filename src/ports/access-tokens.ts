/** Whose a token is; a token that was good once is told from one that never was. */
export type TokenCheck = Readonly<{ kind: 'valid'; subject: string } | { kind: 'expired' } | { kind: 'invalid' }>;

/** Short-lived proofs of who calls. Every server over one database makes and takes the same. */
export interface AccessTokens {
  issue(subject: string, ttlSeconds: number): Promise<string>;
  check(token: string): Promise<TokenCheck>;
}
