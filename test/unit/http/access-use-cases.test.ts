import { beforeEach, describe, expect, test } from 'vitest';
import { createSystemIds } from '../../../src/adapters/ids/system-ids.ts';
import { sha256KeyHasher } from '../../../src/adapters/keys/sha256-key-hasher.ts';
import { createMemoryStores } from '../../../src/adapters/memory/stores.ts';
import { createKeyUseCases } from '../../../src/application/access/access-use-cases.ts';
import type { Instant, Namespace } from '../../../src/domain/kernel/brand.ts';
import type { AccessStore } from '../../../src/ports/access-store.ts';

const TEAM = 'team' as Namespace;
const START = 1_000_000;

let now: number;
let store: AccessStore;
let access: ReturnType<typeof createKeyUseCases>;
let touches: number;
let comparisons: number;

beforeEach(async () => {
  now = START;
  touches = 0;
  comparisons = 0;
  const clock = { now: () => now as Instant, monotonicMs: () => now };
  const memory = createMemoryStores({ clock }).access;
  const touchApiKey: AccessStore['touchApiKey'] = (id) => {
    touches += 1;
    return memory.touchApiKey(id);
  };
  store = { ...memory, touchApiKey };
  const equal = (left: string, right: string) => {
    comparisons += 1;
    return sha256KeyHasher.equal(left, right);
  };
  const hasher = { ...sha256KeyHasher, equal };
  access = createKeyUseCases({ access: store, ids: createSystemIds(clock), clock, hasher });
  await access.createNamespace(TEAM);
});

const create = async (expiresAt?: number) => {
  const request = { name: 'ci', scopes: ['keys:read'] };
  const expiry = expiresAt === undefined ? {} : { expiresAt: expiresAt as Instant };
  const created = await access.createApiKey(TEAM, { ...request, ...expiry });
  if (!created.ok) throw new Error(created.error.message);
  return created.value;
};

const otherLast = (key: string) => `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`;

describe('an API key', () => {
  test('is stored as a digest only', async () => {
    const { key } = await create();
    expect(key).toMatch(/^rk_[A-Za-z0-9]{12}_[A-Za-z0-9_-]{43}$/);
    const [row] = await store.listApiKeys(TEAM);
    expect(JSON.stringify(row)).not.toContain(key.slice(16));
    expect(row?.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  test('names its principal, namespace and scopes', async () => {
    const { id, key } = await create();
    expect(await access.authenticate(key)).toEqual({ id: `key:${id}`, namespace: TEAM, scopes: ['keys:read'] });
  });

  test('is refused when its secret is wrong, after as many comparisons as an unknown one', async () => {
    const { key } = await create();
    expect(await access.authenticate(otherLast(key))).toBe(undefined);
    expect(comparisons).toBe(1);
    expect(await access.authenticate(`rk_AAAAAAAAAAAA_${key.slice(16)}`)).toBe(undefined);
    expect(comparisons).toBe(2);
  });

  test('is refused from the instant it expires', async () => {
    const { key } = await create(START + 10);
    now = START + 9;
    expect(await access.authenticate(key)).not.toBe(undefined);
    now = START + 10;
    expect(await access.authenticate(key)).toBe(undefined);
  });

  test('is refused once revoked, and stays listed as such', async () => {
    const { id, key } = await create();
    expect(await access.revokeApiKey(TEAM, id)).toEqual({ ok: true, value: null });
    expect(await access.authenticate(key)).toBe(undefined);
    expect(await access.listApiKeys(TEAM)).toMatchObject({ ok: true, value: [{ id, revoked: true }] });
  });

  test('of another namespace cannot be revoked', async () => {
    const { id, key } = await create();
    expect(await access.revokeApiKey('rivals' as Namespace, id)).toMatchObject({ error: { code: 'NOT_FOUND' } });
    expect(await access.authenticate(key)).not.toBe(undefined);
  });

  test('in steady use writes when it was last used once a minute, not once a request', async () => {
    const { key } = await create();
    await access.authenticate(key);
    await access.authenticate(key);
    expect(touches).toBe(1);
    now += 60_001;
    await access.authenticate(key);
    expect(touches).toBe(2);
  });

  test('is not made with a scope nobody knows, an expiry that has passed, or for no namespace', async () => {
    const make = (namespace: string, scopes: readonly string[], expiresAt: number) =>
      access.createApiKey(namespace as Namespace, { name: 'x', scopes, expiresAt: expiresAt as Instant });
    expect(await make('team', ['keys:read', 'keys:reed'], START + 1)).toMatchObject({
      error: { code: 'VALIDATION_FAILED', path: 'scopes[1]' },
    });
    expect(await make('team', ['keys:read'], START)).toMatchObject({
      error: { code: 'VALIDATION_FAILED', path: 'expiresAt' },
    });
    expect(await make('nowhere', ['keys:read'], START + 1)).toMatchObject({ error: { code: 'NOT_FOUND' } });
  });
});

test('a namespace is created once', async () => {
  expect(await access.createNamespace(TEAM)).toMatchObject({ error: { code: 'ALREADY_EXISTS' } });
  expect(await access.listNamespaces()).toEqual({ ok: true, value: [TEAM] });
});
