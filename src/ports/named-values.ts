import type { Instant, Namespace } from '../domain/kernel/brand.ts';

export type NamedValueKind = 'ENVIRONMENT' | 'SECRET';

export type NamedValue = Readonly<{
  name: string;
  /** Of a secret: sealed. */
  value: string;
  /** Of a secret: what it is sealed with. */
  keyId?: string;
  createdAt: Instant;
  updatedAt: Instant;
}>;

/** What a namespace gives its runs by name. Secrets are kept as they are given: sealed. */
export interface NamedValueStore {
  /** `refused`: it is not there yet, and the namespace has `valuesMax` of the kind. */
  putValue(
    namespace: Namespace,
    kind: NamedValueKind,
    given: Readonly<{ name: string; value: string; keyId?: string }>,
    valuesMax: number,
  ): Promise<'created' | 'replaced' | 'refused'>;
  /** Those of the names that are there. */
  findValues(namespace: Namespace, kind: NamedValueKind, names: readonly string[]): Promise<readonly NamedValue[]>;
  /** In order of their names. */
  listValues(
    namespace: Namespace,
    kind: NamedValueKind,
    page: Readonly<{ limit: number; after?: string }>,
  ): Promise<readonly NamedValue[]>;
  deleteValue(namespace: Namespace, kind: NamedValueKind, name: string): Promise<boolean>;
  /** Secrets that are sealed with another key, in order of their names. */
  findSealedOtherwise(namespace: Namespace, keyId: string, limit: number): Promise<readonly NamedValue[]>;
  /** Seals a secret anew, unless its value is another by now. */
  resealValue(
    namespace: Namespace,
    name: string,
    from: string,
    to: Readonly<{ value: string; keyId: string }>,
  ): Promise<boolean>;
}
