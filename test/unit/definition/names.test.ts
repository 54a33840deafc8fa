import { describe, expect, it } from 'vitest';
import { NAME_CHARS_MAX } from '../../../src/domain/definition/limits.ts';
import { nameProblem, referenceProblem } from '../../../src/domain/definition/names.ts';

const LETTERS = 'a name begins with a letter or "_" and goes on with letters, digits, "_", "." and "-"';

describe('a name', () => {
  it.each([
    ['', 'a name must not be empty'],
    ['  ', 'a name must not be empty'],
    ['n'.repeat(NAME_CHARS_MAX + 1), 'a name has at most 255 characters'],
    ['a\nb', 'a name must not hold control characters'],
    ['constructor', 'this name is reserved'],
  ])('%j is refused at both doors, with the reason', (name, message) => {
    for (const door of ['v1', 'conductor'] as const) {
      expect(nameProblem(name, 'p', door)).toEqual({ code: 'INVALID_NAME', message, path: 'p' });
      expect(referenceProblem(name, 'p', door)).toEqual({ code: 'INVALID_NAME', message, path: 'p' });
    }
  });

  it.each(['1a', 'a b', 'ä', '.a', '-a', 'a/b', ' a'])('%j is one for Conductor only', (name) => {
    expect(nameProblem(name, 'p', 'v1')?.message).toBe(LETTERS);
    expect(nameProblem(name, 'p', 'conductor')).toBeUndefined();
  });

  it.each(['a', '_', 'A1._-', 'n'.repeat(NAME_CHARS_MAX)])('%j is one at both doors', (name) => {
    expect([nameProblem(name, 'p', 'v1'), nameProblem(name, 'p', 'conductor')]).toEqual([undefined, undefined]);
  });
});

describe('a reference', () => {
  it.each([
    ['a__1', 'a reference must not end with "__" and digits: that is how loop iterations are told apart'],
    ['__12', 'a reference must not end with "__" and digits: that is how loop iterations are told apart'],
    ['#0', 'a reference must not begin with "#"'],
  ])('%j is refused at both doors, since the engine writes such ones', (ref, message) => {
    for (const door of ['v1', 'conductor'] as const) expect(referenceProblem(ref, 'p', door)?.message).toBe(message);
  });

  it('may be called like a root of expressions at the door of Conductor only', () => {
    expect(referenceProblem('workflow', 'p', 'v1')?.message).toBe(
      '"workflow" is the name of a root of expressions and cannot name a task',
    );
    expect(referenceProblem('workflow', 'p', 'conductor')).toBeUndefined();
  });

  it.each(['a b', '1', 'a__1b', 'a_1', 'a#0', 'ä'])('%j is one at both doors', (ref) => {
    expect([referenceProblem(ref, 'p', 'v1'), referenceProblem(ref, 'p', 'conductor')]).toEqual([undefined, undefined]);
  });
});
