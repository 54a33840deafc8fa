import { err, ok, type Result } from '../../../../domain/kernel/result.ts';

/** One piece of a query. A quoted word is never a keyword. */
export type Token = Readonly<
  | { kind: 'word'; text: string; quoted: boolean }
  | { kind: 'sign'; text: string }
  | { kind: 'open' | 'close' | 'comma' }
>;

const SPACE = /\s/;
const SIGN = /^(?:<=|>=|!=|<>|=|<|>)/;
/** Where a word without quotes ends. */
const WORD = /^[^\s()=<>!,"']+/;

const PUNCTUATION: Readonly<Record<string, Token>> = {
  '(': { kind: 'open' },
  ')': { kind: 'close' },
  ',': { kind: 'comma' },
};

const quotedAt = (text: string, start: number): Readonly<{ word: string; end: number }> | undefined => {
  const quote = text[start];
  let word = '';
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\' && at + 1 < text.length) {
      at += 1;
      word += text[at];
    } else if (text[at] === quote) {
      return { word, end: at + 1 };
    } else {
      word += text[at];
    }
  }
  return undefined;
};

/** The pieces of a query. The error says what is wrong and where. */
export const tokensOf = (text: string): Result<readonly Token[], string> => {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const char = text[at] ?? '';
    const rest = text.slice(at);
    const punctuation = PUNCTUATION[char];
    const sign = SIGN.exec(rest)?.[0];
    const word = WORD.exec(rest)?.[0];
    if (SPACE.test(char)) {
      at += 1;
    } else if (punctuation !== undefined) {
      tokens.push(punctuation);
      at += 1;
    } else if (char === '"' || char === "'") {
      const quoted = quotedAt(text, at);
      if (quoted === undefined) return err(`The quote at ${at + 1} is not closed.`);
      tokens.push({ kind: 'word', text: quoted.word, quoted: true });
      at = quoted.end;
    } else if (sign !== undefined) {
      tokens.push({ kind: 'sign', text: sign });
      at += sign.length;
    } else if (word !== undefined) {
      tokens.push({ kind: 'word', text: word, quoted: false });
      at += word.length;
    } else {
      return err(`There is no meaning to ${char} at ${at + 1}.`);
    }
  }
  return ok(tokens);
};
