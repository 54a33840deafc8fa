const CLASS = /\[(?:\\.|[^\]\\])*\]/gu;
const PROPERTY_ESCAPE = /\\[pPu]\{[^}]*\}/gu;
const BACK_REFERENCE = /\\[1-9k]/u;
const ESCAPE = /\\./gu;
const LOOK_AROUND_OR_NAME = /\(\?(?!:)/u;
const QUANTIFIED_GROUP = /\)[*+?{]/u;
const QUANTIFIER = /[*+?{]/gu;

/** Steps that one test of a simple pattern may take at worst. */
const STEPS_MAX = 1_000_000;
/** Steps that count as one unit of work. */
const STEPS_PER_UNIT = 100;

/**
 * How many quantifiers a pattern has, if all of them are of single characters; undefined for any other. With k of them a
 * backtracking engine takes at most about n to the power of k + 1 steps over n characters.
 */
const quantifiersOf = (pattern: string): number | undefined => {
  if (BACK_REFERENCE.test(pattern)) return undefined;
  const plain = pattern.replaceAll(CLASS, 'x').replaceAll(PROPERTY_ESCAPE, 'x').replaceAll(ESCAPE, 'x');
  if (LOOK_AROUND_OR_NAME.test(plain) || QUANTIFIED_GROUP.test(plain)) return undefined;
  return plain.match(QUANTIFIER)?.length ?? 0;
};

/**
 * Units of work that a pattern takes over texts of a length, at worst; undefined where that is too much to run it without a
 * meter.
 */
export const patternUnits = (pattern: string): ((chars: number) => number | undefined) => {
  const quantifiers = quantifiersOf(pattern);
  return (chars) => {
    const steps = quantifiers === undefined ? Number.POSITIVE_INFINITY : (chars + 1) ** (quantifiers + 1);
    return steps > STEPS_MAX ? undefined : 1 + Math.ceil(steps / STEPS_PER_UNIT);
  };
};
