import { describe, expect, it } from 'vitest';
import { addMs, type Instant } from '../../src/domain/kernel/brand.ts';
import type { ApiKeyRow } from '../../src/ports/access-store.ts';
import { ALPHA, BETA } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

const CREATED_AT = Date.UTC(2026, 0, 1) as Instant;

const apiKey = (id: string, overrides: Partial<ApiKeyRow> = {}): ApiKeyRow => ({
  id,
  namespace: ALPHA,
  name: `key ${id}`,
  prefix: `rk_${id}`,
  digest: 'd'.repeat(64),
  scopes: ['executions:start', 'queues:lease:*'],
  createdAt: CREATED_AT,
  ...overrides,
});

describe.each(harnesses)('namespaces over $name', (harness) => {
  const open = useHarness(harness);

  it('are created once', async () => {
    expect(await open().access.namespaceExists(ALPHA)).toBe(false);
    expect(await open().access.createNamespace(ALPHA)).toBe(true);
    expect(await open().access.createNamespace(ALPHA)).toBe(false);
    expect(await open().access.namespaceExists(ALPHA)).toBe(true);
    expect(await open().access.namespaceExists(BETA)).toBe(false);
  });

  it('are listed by name', async () => {
    await open().access.createNamespace(BETA);
    await open().access.createNamespace(ALPHA);
    expect(await open().access.listNamespaces()).toEqual([ALPHA, BETA]);
  });
});

describe.each(harnesses)('API keys over $name', (harness) => {
  const open = useHarness(harness);

  it('are found by prefix, as they were stored', async () => {
    const key = apiKey('k1', { expiresAt: addMs(CREATED_AT, 1_000) });
    await open().access.putApiKey(key);
    await open().access.putApiKey(apiKey('k2'));
    expect(await open().access.findApiKeyByPrefix('rk_k1')).toEqual(key);
    expect(await open().access.findApiKeyByPrefix('rk_k2')).toEqual(apiKey('k2'));
    expect(await open().access.findApiKeyByPrefix('rk_')).toBeUndefined();
  });

  it('are listed for their namespace only', async () => {
    await open().access.putApiKey(apiKey('k1'));
    await open().access.putApiKey(apiKey('k2', { namespace: BETA }));
    expect((await open().access.listApiKeys(ALPHA)).map((key) => key.id)).toEqual(['k1']);
    expect((await open().access.listApiKeys(BETA)).map((key) => key.id)).toEqual(['k2']);
  });

  it('are revoked by their own namespace only', async () => {
    await open().access.putApiKey(apiKey('k1'));
    expect(await open().access.revokeApiKey(BETA, 'k1')).toBe(false);
    expect((await open().access.findApiKeyByPrefix('rk_k1'))?.revokedAt).toBeUndefined();
    expect(await open().access.revokeApiKey(ALPHA, 'k1')).toBe(true);
    expect((await open().access.findApiKeyByPrefix('rk_k1'))?.revokedAt).toBeGreaterThan(CREATED_AT);
    expect(await open().access.revokeApiKey(ALPHA, 'unknown')).toBe(false);
  });

  it('keep the time they were first revoked', async () => {
    await open().access.putApiKey(apiKey('k1'));
    await open().access.revokeApiKey(ALPHA, 'k1');
    const first = (await open().access.findApiKeyByPrefix('rk_k1'))?.revokedAt;
    await open().advance(1_000);
    await open().access.revokeApiKey(ALPHA, 'k1');
    expect((await open().access.findApiKeyByPrefix('rk_k1'))?.revokedAt).toBe(first);
  });

  it('remember when they were last used', async () => {
    await open().access.putApiKey(apiKey('k1'));
    await open().access.touchApiKey('k1');
    expect((await open().access.findApiKeyByPrefix('rk_k1'))?.lastUsedAt).toBeGreaterThan(CREATED_AT);
  });
});

describe.each(harnesses)('the health probe over $name', (harness) => {
  const open = useHarness(harness);

  it('has nothing to say about a healthy store', async () => {
    expect(await open().health.problems()).toEqual([]);
  });
});
