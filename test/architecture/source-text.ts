/** One import, re-export or dynamic import, or the URL of a source file that a thread runs. */
export type Reference = Readonly<{ specifier: string; typeOnly: boolean }>;

const LEXEME = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g;
const STATIC =
  /(?:^|[;\n])\s*(?:import|export)\s+(?<type>type\s)?(?<clause>[^;'"`]*?)\s*from\s*['"](?<specifier>[^'"]+)['"]/g;
const BARE = /(?:^|[;\n])\s*import\s*['"](?<specifier>[^'"]+)['"]/g;
const DYNAMIC = /\bimport\(\s*['"](?<specifier>[^'"]+)['"]\s*\)/g;
const URL_OF = /\bnew URL\(\s*['"](?<specifier>\.[^'"]+\.ts)['"]\s*,\s*import\.meta\.url/g;

const isComment = (lexeme: string): boolean => lexeme.startsWith('//') || lexeme.startsWith('/*');

/** The source without its comments. */
export const withoutComments = (source: string): string =>
  source.replace(LEXEME, (lexeme) => (isComment(lexeme) ? ' ' : lexeme));

/** The source without its comments and quoted texts; templates stay, for they hold code. */
export const codeOnly = (source: string): string =>
  source.replace(LEXEME, (lexeme) => {
    if (isComment(lexeme)) return ' ';
    return lexeme.startsWith('`') ? lexeme : "''";
  });

/** `import { type A, type B }` brings nothing at run time, like `import type`. */
const namesTypesOnly = (clause: string): boolean => {
  const names = /^\{(?<names>[\s\S]*)\}$/.exec(clause.trim())?.groups?.names;
  if (names === undefined) return false;
  return names.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
};

export const referencesOf = (source: string): readonly Reference[] => {
  const code = withoutComments(source);
  const statics = [...code.matchAll(STATIC)].map(({ groups }) => ({
    specifier: groups?.specifier ?? '',
    typeOnly: groups?.type !== undefined || namesTypesOnly(groups?.clause ?? ''),
  }));
  const others = [BARE, DYNAMIC, URL_OF].flatMap((pattern) =>
    [...code.matchAll(pattern)].map(({ groups }) => ({ specifier: groups?.specifier ?? '', typeOnly: false })),
  );
  return [...statics, ...others];
};
