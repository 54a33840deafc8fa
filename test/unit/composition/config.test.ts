import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Config, readConfig } from '../../../src/composition/config.ts';
import { keepSecretKey } from '../../../src/composition/secret-key-file.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

const read = (environment: Record<string, string>): Config => {
  const config = readConfig(environment);
  if (!config.ok) throw new Error(config.error.join('; '));
  return config.value;
};

const problemsOf = (environment: Record<string, string>): readonly string[] => {
  const config = readConfig(environment);
  return config.ok ? [] : config.error;
};

describe('the configuration of calls, secrets and datasources', () => {
  it('has none of them unless told', () => {
    const { secretKeys, datasources, outboundHosts, outboundNetworks, callsMax } = read({});
    expect([secretKeys, datasources.size, outboundHosts, outboundNetworks, callsMax]).toEqual([
      [],
      0,
      [],
      undefined,
      64,
    ]);
  });

  it('reads a ring of keys in its order, in both alphabets of base64', () => {
    const odd = Buffer.alloc(32, 0xfb);
    const ring = `new:${odd.toString('base64url')}, old:${KEY}`;
    expect(read({ RONDO_SECRET_KEYS: ring }).secretKeys).toEqual([
      { id: 'new', bytes: odd },
      { id: 'old', bytes: Buffer.alloc(32, 7) },
    ]);
  });

  it.each(['no-key', `a:${KEY.slice(4)}`, `a:${KEY},a:${KEY}`, `:${KEY}`, `a b:${KEY}`, `a:${KEY},`])(
    'refuses the ring %j, and tells nothing of it',
    (ring) => {
      const problems = problemsOf({ RONDO_SECRET_KEYS: ring });
      expect(problems).toHaveLength(1);
      expect(problems[0]).not.toContain(KEY.slice(4, 20));
    },
  );

  it('reads datasources by name, and tells nothing of one that is wrong', () => {
    const { datasources } = read({ RONDO_DATASOURCES: '{"orders":"postgres://u:p@h/d"}' });
    expect([...datasources]).toEqual([['orders', 'postgres://u:p@h/d']]);
    for (const wrong of [
      '{',
      '[]',
      '"x"',
      '{"a b":"postgres://u:hidden@h"}',
      '{"a":"mysql://u:hidden@h"}',
      '{"a":1}',
    ]) {
      const problems = problemsOf({ RONDO_DATASOURCES: wrong });
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.join()).not.toContain('hidden');
    }
  });

  it('reads networks and hosts', () => {
    const hosts = 'API.example.com, *.internal.example,localhost:8080,[::1]:9';
    expect(read({ RONDO_OUTBOUND_HOSTS: hosts, RONDO_OUTBOUND_NETWORKS: 'private' })).toMatchObject({
      outboundHosts: ['api.example.com', '*.internal.example', 'localhost:8080', '[::1]:9'],
      outboundNetworks: 'private',
    });
    expect(problemsOf({ RONDO_OUTBOUND_HOSTS: 'https://api.example.com' })).toHaveLength(1);
    expect(problemsOf({ RONDO_OUTBOUND_NETWORKS: 'all' })).toHaveLength(1);
    expect(problemsOf({ RONDO_CALLS_MAX: '0' })).toHaveLength(1);
  });
});

describe('the key of rondo dev', () => {
  it('is made once, is for its owner alone, and is the same the next time', async () => {
    const home = join(await mkdtemp(join(tmpdir(), 'rondo-key-')), 'new');
    const [first, beside] = await Promise.all([keepSecretKey(home), keepSecretKey(home)]);
    expect([first.bytes.length, beside.bytes.equals(first.bytes)]).toEqual([32, true]);
    expect((await keepSecretKey(home)).bytes.equals(first.bytes)).toBe(true);
    expect((await stat(join(home, 'secret.key'))).mode & 0o077).toBe(0);
    await writeFile(join(home, 'secret.key'), (await readFile(join(home, 'secret.key'), 'utf8')).slice(8));
    await expect(keepSecretKey(home)).rejects.toThrow('holds no key');
    await rm(home, { recursive: true });
  });
});
