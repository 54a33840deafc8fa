import { invariant } from '../../domain/kernel/invariant.ts';

/** Characters of generated code that count as one unit of work. */
const CHARS_PER_UNIT = 64;

/** What the code calls at each turn of a loop and each call of a function, on the object it knows as `self`. */
export const SPEND = 'spend';

const isWordChar = (char: string | undefined): boolean => char !== undefined && /[\w$]/.test(char);

/** The place after the string literal that begins at `start`. */
const afterString = (code: string, start: number): number => {
  const quote = code[start];
  let at = start + 1;
  while (at < code.length && code[at] !== quote) at += code[at] === '\\' ? 2 : 1;
  return at + 1;
};

/** The place after the closing parenthesis that belongs to the first opening one from `start` on. */
const afterParentheses = (code: string, start: number): number => {
  let depth = 0;
  for (let at = start; at < code.length; ) {
    const char = code[at];
    if (char === '"' || char === "'") {
      at = afterString(code, at);
      continue;
    }
    at += 1;
    if (char === '(') depth += 1;
    if (char !== ')') continue;
    depth -= 1;
    if (depth === 0) return at;
  }
  return code.length;
};

const METERED = ['for', 'function'] as const;

const wordAt = (code: string, at: number): string | undefined =>
  METERED.find((word) => code.startsWith(word, at) && !isWordChar(code[at - 1]) && !isWordChar(code[at + word.length]));

/**
 * Makes the code that ajv generated count its work: every turn of a loop and every call of a function spends what the
 * whole function could cost. So a check is bounded, whatever schema and value are, and counts the same on every machine. Text
 * of the schema that looks like code stands in string literals, which are left alone.
 */
export const meterCode = (code: string): string => {
  const units = Math.ceil(code.length / CHARS_PER_UNIT);
  const pieces: string[] = [];
  let from = 0;
  for (let at = 0; at < code.length; ) {
    const char = code[at];
    if (char === '"' || char === "'") {
      at = afterString(code, at);
      continue;
    }
    const word = wordAt(code, at);
    if (word === undefined) {
      at += 1;
      continue;
    }
    const body = afterParentheses(code, at) + 1;
    invariant(code[body - 1] === '{', `a ${word} without a block in generated code`);
    pieces.push(code.slice(from, body), `self.${SPEND}(${units});`);
    from = body;
    at = body;
  }
  pieces.push(code.slice(from));
  return pieces.join('');
};
