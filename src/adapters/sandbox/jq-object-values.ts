/** What encloses a place of a jq program: brackets, a text, the code inside a text, an object or a pattern of one. */
type Enclosure = 'round' | 'square' | 'text' | 'object key' | 'object value' | 'pattern';

/** `{` opens a pattern, which names variables, after `as`, after `?//`, and inside of another pattern. */
const opensPattern = (before: string, around: Enclosure | undefined): boolean =>
  around === 'pattern' || /(?:\bas|\?\/\/)$/.test(before.slice(-LOOK_BEHIND_CHARS).trimEnd());

const LOOK_BEHIND_CHARS = 40;
const CODE_TOKEN = /#[^\n]*|./suy;
const TEXT_TOKEN = /\\?./suy;

const OPENING: ReadonlyMap<string, Enclosure> = new Map([
  ['(', 'round'],
  ['[', 'square'],
  ['"', 'text'],
]);

/** Tells what a token of a text does; anything but its end and the start of code inside it is a part of it. */
const stepInText = (token: string, enclosures: Enclosure[]): string => {
  if (token === '"') enclosures.pop();
  else if (token === '\\(') enclosures.push('round');
  return token;
};

const close = (token: string, enclosures: Enclosure[]): string =>
  enclosures.pop() === 'object value' ? `)${token}` : token;

const stepInCode = (token: string, before: string, enclosures: Enclosure[]): string => {
  const around = enclosures.at(-1);
  const opened = token === '{' ? (opensPattern(before, around) ? 'pattern' : 'object key') : OPENING.get(token);
  if (opened !== undefined) {
    enclosures.push(opened);
    return token;
  }
  if (token === ':' && around === 'object key') {
    enclosures[enclosures.length - 1] = 'object value';
    return ':(';
  }
  if (token === ',' && around === 'object value') {
    enclosures[enclosures.length - 1] = 'object key';
    return '),';
  }
  return token === ')' || token === ']' || token === '}' ? close(token, enclosures) : token;
};

/**
 * Puts the values of object constructions in parentheses: `{a: .b // 1}` becomes `{a:( .b // 1)}`. jq itself wants them
 * around anything with an operator; the jq of the JVM, for which many definitions were written, does not. Nothing else
 * is changed, and a program that jq understands means the same afterwards.
 */
export const parenthesizeObjectValues = (query: string): string => {
  const enclosures: Enclosure[] = [];
  let written = '';
  for (let at = 0; at < query.length; ) {
    const isInText = enclosures.at(-1) === 'text';
    const pattern = isInText ? TEXT_TOKEN : CODE_TOKEN;
    pattern.lastIndex = at;
    const token = pattern.exec(query)?.[0] ?? query.slice(at);
    written += isInText ? stepInText(token, enclosures) : stepInCode(token, written, enclosures);
    at += token.length;
  }
  return written;
};
