import { describe, expect, it } from 'vitest';
import { MASK, masked, maskedFieldsOf, maskedKeysOf } from '../../../src/domain/execution/masking.ts';

const KEYS = maskedKeysOf({ maskedFields: ['card'] });

describe('what is under a masked key', () => {
  it('is replaced at any depth, in objects and in lists, whatever it is', () => {
    expect(masked({ card: { n: 1 }, a: [{ card: 1, b: 2 }, [{ card: null }]], c: { d: { card: 'x' } } }, KEYS)).toEqual(
      {
        card: MASK,
        a: [{ card: MASK, b: 2 }, [{ card: MASK }]],
        c: { d: { card: MASK } },
      },
    );
  });

  it('is replaced under the two keys of the engine too, which no definition has to name', () => {
    const none = maskedKeysOf({});
    expect(masked({ _secrets: 1, _masked: 2, card: 3 }, none)).toEqual({ _secrets: MASK, _masked: MASK, card: 3 });
  });

  it.each([[{ a: [1, { b: null }] }], [[1, [2]]], ['card'], [7], [null]])(
    'is not there in %j, which is not copied',
    (value) => {
      expect(masked(value, KEYS)).toBe(value);
    },
  );

  it('in a list leaves the other items as they are', () => {
    const [first, last] = [{ a: 1 }, { b: 2 }];
    const shown = masked([first, { card: 1 }, last], KEYS);
    expect([shown[0] === first, shown[1], shown[2] === last]).toEqual([true, { card: MASK }, true]);
  });
});

describe('a fact as it may be shown', () => {
  it('keeps its own words, and shows no payload under a masked key', () => {
    const fact = {
      type: 'TaskClosed',
      card: 'a field of its own',
      input: { card: 1, n: 2 },
      output: { n: 1 },
      nothing: null,
      disposition: { kind: 'retry', card: 1 },
      policy: { card: 1 },
      parent: { card: 1 },
      taskToDomain: { card: 'd' },
      tasks: [{ card: 1 }],
      outputSchema: { properties: { card: {} } },
    };
    expect(maskedFieldsOf(fact, KEYS)).toEqual({ ...fact, input: { card: MASK, n: 2 } });
  });

  it('is itself where nothing is masked', () => {
    const fact = { type: 'TaskClosed', input: { n: 1 } };
    expect(maskedFieldsOf(fact, KEYS)).toBe(fact);
  });
});
