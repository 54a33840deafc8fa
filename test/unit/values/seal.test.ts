import { describe, expect, it } from 'vitest';
import { createSecretSeal } from '../../../src/adapters/keys/aes-gcm-seal.ts';
import { sealKey } from '../../support/seal.ts';

const [k1, k2] = [sealKey('k1'), sealKey('k2')];

describe('a seal', () => {
  const seal = createSecretSeal([k1, k2]);
  const sealed = seal.seal('grüße', 'here') ?? '';

  it('opens what it sealed, at the place where it belongs alone', () => {
    expect(seal.open(sealed, 'here')).toEqual({ ok: true, value: 'grüße' });
    expect(seal.open(sealed, 'there')).toEqual({ ok: false, error: 'BROKEN' });
  });

  it('tells nothing by what it looks like: the same text is sealed otherwise each time', () => {
    expect(sealed).not.toContain('grüße');
    expect(seal.seal('grüße', 'here')).not.toBe(sealed);
  });

  it('is made with the first key of the ring, and opened with any', () => {
    expect(sealed.split('.')[1]).toBe('k1');
    const turned = createSecretSeal([k2, k1]);
    expect([turned.keyId, turned.open(sealed, 'here').ok]).toEqual(['k2', true]);
    expect(createSecretSeal([k2]).open(sealed, 'here')).toEqual({ ok: false, error: 'NO_KEY' });
  });

  it('does not open when a byte of it is another, nor where another key has the same name', () => {
    const at = sealed.length - 3;
    const broken = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
    expect(seal.open(broken, 'here')).toEqual({ ok: false, error: 'BROKEN' });
    for (const text of ['', 'rs1.k1', 'rs1.k1.AAAA', 'rs2.k1.AAAA', 'plain']) {
      expect(seal.open(text, 'here')).toEqual({ ok: false, error: 'BROKEN' });
    }
    const impostor = createSecretSeal([{ id: 'k1', bytes: k2.bytes }]);
    expect(impostor.open(sealed, 'here')).toEqual({ ok: false, error: 'BROKEN' });
  });

  it('without a key seals nothing and opens nothing', () => {
    const keyless = createSecretSeal([]);
    expect([keyless.keyId, keyless.seal('x', 'here'), keyless.open(sealed, 'here')]).toEqual([
      undefined,
      undefined,
      { ok: false, error: 'NO_KEY' },
    ]);
  });
});
