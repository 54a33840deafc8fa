import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import { err, ok } from '../../domain/kernel/result.ts';
import type { NamedValue, NamedValueKind, NamedValueStore } from '../../ports/named-values.ts';
import type { SecretSeal } from '../../ports/secret-seal.ts';
import type { TagStore } from '../../ports/tag-store.ts';
import type { ApplicationError } from '../application-error.ts';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import type { Outcome, Page, SecretSummary, UseCases } from '../use-cases.ts';
import { secretContext } from './fill-secrets.ts';

/** Values of a kind in one namespace, and characters of one. */
export const VALUES_MAX = 1_000;
export const VALUE_CHARS_MAX = 65_535;

/** Secrets that are sealed anew before it is asked for the next ones. */
const RESEAL_BATCH = 100;

const NAME = /^[A-Za-z0-9_-]{1,255}$/;
const KEY = z.string();

const WORDS: Readonly<Record<NamedValueKind, string>> = { ENVIRONMENT: 'environment value', SECRET: 'secret' };

const NO_KEY_RING: ApplicationError = {
  code: 'NO_KEY_RING',
  message: 'This server has no keys to seal secrets with: set RONDO_SECRET_KEYS.',
};

const missing = (kind: NamedValueKind, name: string): ApplicationError => ({
  code: 'NOT_FOUND',
  message: `There is no ${WORDS[kind]} ${name}.`,
});

const problemOf = (kind: NamedValueKind, name: string, value: string): ApplicationError | undefined => {
  if (!NAME.test(name)) {
    const message = `The name of a ${WORDS[kind]} is of letters, digits, "_" and "-", and at most 255 long.`;
    return { code: 'INVALID_NAME', message, path: 'name' };
  }
  if (value.length <= VALUE_CHARS_MAX) return undefined;
  return { code: 'PAYLOAD_TOO_LARGE', message: `A value has at most ${VALUE_CHARS_MAX} characters.`, path: 'value' };
};

const summaryOf = ({ name, createdAt, updatedAt, keyId = '' }: NamedValue): SecretSummary => ({
  name,
  keyId,
  createdAt,
  updatedAt,
});

type Deps = Readonly<{ values: NamedValueStore; seal: SecretSeal; tags: TagStore }>;

const stored = async (
  { values }: Deps,
  namespace: Namespace,
  kind: NamedValueKind,
  given: Readonly<{ name: string; value: string; keyId?: string }>,
): Outcome<'created' | 'replaced'> => {
  const outcome = await values.putValue(namespace, kind, given, VALUES_MAX);
  if (outcome !== 'refused') return ok(outcome);
  return err({ code: 'LIMIT_EXCEEDED', message: `A namespace has at most ${VALUES_MAX} ${WORDS[kind]}s.` });
};

const listed = async <T>(
  { values }: Deps,
  namespace: Namespace,
  kind: NamedValueKind,
  page: Readonly<{ limit: number; cursor: string | undefined }>,
  shown: (value: NamedValue) => T,
): Outcome<Page<T>> => {
  const scope = `${namespace}/${kind}`;
  const after = page.cursor === undefined ? undefined : decodeCursor(scope, page.cursor, KEY);
  if (after?.ok === false) return after;
  const range = { limit: page.limit + 1, ...(after === undefined ? {} : { after: after.value }) };
  const found = await values.listValues(namespace, kind, range);
  const items = found.slice(0, page.limit);
  const last = items.at(-1);
  const more = found.length > page.limit && last !== undefined;
  return ok({ items: items.map(shown), ...(more ? { nextCursor: encodeCursor(scope, last.name) } : {}) });
};

const removed = async (deps: Deps, namespace: Namespace, kind: NamedValueKind, name: string): Outcome<null> => {
  if (!(await deps.values.deleteValue(namespace, kind, name))) return err(missing(kind, name));
  await deps.tags.clearTags(namespace, { kind, name });
  return ok(null);
};

/** What people do with the environment of a namespace. Errors: NOT_FOUND, INVALID_NAME, PAYLOAD_TOO_LARGE, LIMIT_EXCEEDED. */
export const createEnvironmentUseCases = (deps: Deps): UseCases['environment'] => ({
  put: async (namespace, name, value) => {
    const problem = problemOf('ENVIRONMENT', name, value);
    return problem === undefined ? stored(deps, namespace, 'ENVIRONMENT', { name, value }) : err(problem);
  },
  get: async (namespace, name) => {
    const [found] = await deps.values.findValues(namespace, 'ENVIRONMENT', [name]);
    return found === undefined ? err(missing('ENVIRONMENT', name)) : ok(found);
  },
  list: (namespace, limit, cursor) => listed(deps, namespace, 'ENVIRONMENT', { limit, cursor }, (value) => value),
  delete: (namespace, name) => removed(deps, namespace, 'ENVIRONMENT', name),
});

/** The same of its secrets, which nobody ever reads again. Errors: also NO_KEY_RING, where nothing could seal them. */
export const createSecretUseCases = (deps: Deps): UseCases['secrets'] => ({
  put: async (namespace, name, text) => {
    const problem = problemOf('SECRET', name, text);
    if (problem !== undefined) return err(problem);
    const { keyId } = deps.seal;
    const value = deps.seal.seal(text, secretContext(namespace, name));
    if (keyId === undefined || value === undefined) return err(NO_KEY_RING);
    return stored(deps, namespace, 'SECRET', { name, value, keyId });
  },
  get: async (namespace, name) => {
    const [found] = await deps.values.findValues(namespace, 'SECRET', [name]);
    return found === undefined ? err(missing('SECRET', name)) : ok(summaryOf(found));
  },
  list: (namespace, limit, cursor) => listed(deps, namespace, 'SECRET', { limit, cursor }, summaryOf),
  delete: (namespace, name) => removed(deps, namespace, 'SECRET', name),
  rotate: (namespace) => rotated(deps, namespace),
});

/** Seals with the first key what another key sealed. What this server cannot open stays as it is, and is counted. */
const rotated = async (
  { values, seal }: Deps,
  namespace: Namespace,
): Outcome<Readonly<{ keyId: string; resealed: number; unreadable: readonly string[] }>> => {
  const { keyId } = seal;
  if (keyId === undefined) return err(NO_KEY_RING);
  const unreadable = new Set<string>();
  let resealed = 0;
  for (;;) {
    const found = await values.findSealedOtherwise(namespace, keyId, RESEAL_BATCH + unreadable.size);
    const left = found.filter(({ name }) => !unreadable.has(name));
    if (left.length === 0) return ok({ keyId, resealed, unreadable: [...unreadable].sort() });
    for (const { name, value } of left) {
      const context = secretContext(namespace, name);
      const text = seal.open(value, context);
      const again = text.ok ? seal.seal(text.value, context) : undefined;
      if (again === undefined) unreadable.add(name);
      else if (await values.resealValue(namespace, name, value, { value: again, keyId })) resealed += 1;
    }
  }
};
