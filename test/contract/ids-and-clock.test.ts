import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createSystemIds } from '../../src/adapters/ids/system-ids.ts';
import { parseExecutionId, parseLeaseToken } from '../../src/domain/kernel/brand.ts';
import type { Ids } from '../../src/ports/ids.ts';
import { createFakeClock, FAKE_CLOCK_START } from '../support/fake-clock.ts';
import { createFakeIds } from '../support/fake-ids.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const MANY = 50_000;

const many = <T>(make: () => T, count = MANY): readonly T[] => Array.from({ length: count }, make);
const timeOf = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

const kinds: readonly (readonly [string, () => Ids])[] = [
  ['system', () => createSystemIds(systemClock)],
  ['fake', createFakeIds],
];

describe.each(kinds)('ids of the %s kind', (_, create) => {
  it('are well-formed', () => {
    const ids = create();
    const executionId = ids.executionId();
    const leaseToken = ids.leaseToken();
    expect(executionId).toMatch(UUID_V7);
    expect(parseExecutionId(executionId)).toBe(executionId);
    expect(leaseToken).toMatch(UUID_V4);
    expect(parseLeaseToken(leaseToken)).toBe(leaseToken);
    expect(ids.secret()).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  it('of runs rise, and never repeat', () => {
    const ids = create();
    const made = many(() => ids.executionId());
    expect(new Set(made).size).toBe(MANY);
    expect(made.toSorted()).toEqual(made);
  });

  it('of leases and secrets never repeat', () => {
    const ids = create();
    expect(new Set(many(() => ids.leaseToken(), 5_000)).size).toBe(5_000);
    expect(new Set(many(() => ids.secret(), 5_000)).size).toBe(5_000);
  });
});

describe('ids of runs by the system', () => {
  it('carry the time of the clock', () => {
    const clock = createFakeClock();
    const ids = createSystemIds(clock);
    expect(timeOf(ids.executionId())).toBe(FAKE_CLOCK_START);
    clock.advance(1_234);
    expect(timeOf(ids.executionId())).toBe(FAKE_CLOCK_START + 1_234);
  });

  it('rise within one millisecond', () => {
    const ids = createSystemIds(createFakeClock());
    const made = many(() => ids.executionId());
    expect(made.toSorted()).toEqual(made);
    expect(timeOf(made.at(-1) ?? '')).toBe(FAKE_CLOCK_START);
  });

  it('rise while the clock steps back', () => {
    const clock = createFakeClock();
    const ids = createSystemIds(clock);
    const made = many(() => {
      clock.advance(-5);
      return ids.executionId();
    }, 1_000);
    expect(made.toSorted()).toEqual(made);
  });

  it('of two processes at the same instant differ', () => {
    const clock = createFakeClock();
    const [one, other] = [createSystemIds(clock), createSystemIds(clock)];
    const made = many(() => [one.executionId(), other.executionId()], 1_000).flat();
    expect(new Set(made).size).toBe(made.length);
  });
});

describe('fake ids', () => {
  it('are the same in every run', () => {
    const [one, other] = [createFakeIds(), createFakeIds()];
    expect(many(() => one.executionId(), 3)).toEqual(many(() => other.executionId(), 3));
  });
});

describe('the clocks', () => {
  it('of the system tells the time of this machine', () => {
    const before = Date.now();
    const now = systemClock.now();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
  });

  it('that is fake moves only when told to', () => {
    const clock = createFakeClock(1_000);
    expect(clock.now()).toBe(1_000);
    clock.advance(50);
    expect(clock.now()).toBe(1_050);
    clock.set(7);
    expect(clock.now()).toBe(7);
  });
});
