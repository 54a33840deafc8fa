import type { SourceTree } from './import-rules.ts';
import { codeOnly, withoutComments } from './source-text.ts';

type Ban = readonly [what: string, pattern: RegExp];

/** Same input, same answer, on every machine at every time: the domain reads no clock, throws no dice and waits for nobody. */
const IMPURE: readonly Ban[] = [
  ['the clock', /\bDate\.now\b|\bnew Date\(\s*\)|(?<!new )\bDate\(|\bperformance\b/],
  ['chance', /\bMath\.random\b|\bcrypto\b|\brandomUUID\b/],
  ['its surroundings', /\bprocess\b|\bglobalThis\b|\bconsole\b|\bfetch\(|\brequire\(|\bimport\.meta\b/],
  ['the future', /\basync\b|\bawait\b|\bPromise\b|\bAsync(?:Iterable|Generator|Iterator)\b/],
  ['timers', /\bset(?:Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/],
  ['the locale', /\blocaleCompare\b|\btoLocale\w*\b/],
];

/** Time and chance reach the use cases through ports; they may wait for promises and timers, by a stopwatch. */
const UNPORTED: readonly Ban[] = [
  ['the clock', /\bDate\.now\b|\bnew Date\(\s*\)|(?<!new )\bDate\(/],
  ['chance', /\bMath\.random\b|\bcrypto\b|\brandomUUID\b/],
  ['its surroundings', /\bprocess\b|\bglobalThis\b|\bconsole\b|\bfetch\(|\brequire\(/],
];

const SQL =
  /[`'"]\s*(?:select\s|insert\s+into\s|update\s+\w+\s+(?:\w+\s+)?set\s|delete\s+from\s|with\s+\w+\s+as\s*\(|(?:create|alter|drop)\s+(?:table|index|database|role|schema)\s|truncate\s|listen\s+\w|notify\s+\w|begin\b\s*[;`'"])/i;

/** Where statements may stand: the store, the program that starts the database server, and nothing else. */
const SQL_ZONES = ['src/adapters/postgres/', 'src/adapters/embedded-postgres/'];

// Put together here, so that these rules do not find themselves.
const FOCUS_OR_SKIP = new RegExp(
  `\\b(?:it|test|describe|suite|bench)(?:\\.\\w+)*\\.(?:${['only', 'skip', 'todo'].join('|')})\\b|\\b(?:x|f)(?:it|describe)\\(`,
);
const UNFINISHED = new RegExp(
  `\\b(?:${['TO', 'FIX', 'X', 'HA'].map((half, at) => half + ['DO', 'ME', 'XX', 'CK'][at]).join('|')})\\b`,
);

const found = (bans: readonly Ban[], path: string, code: string): readonly string[] =>
  bans.filter(([, pattern]) => pattern.test(code)).map(([what]) => `${path} depends on ${what}`);

const check = (tree: SourceTree, folder: string, violations: (path: string, source: string) => readonly string[]) =>
  [...tree].filter(([path]) => path.startsWith(folder)).flatMap(([path, source]) => violations(path, source));

export const impureDomain = (tree: SourceTree): readonly string[] =>
  check(tree, 'src/domain/', (path, source) => found(IMPURE, path, codeOnly(source)));

export const unportedApplication = (tree: SourceTree): readonly string[] =>
  check(tree, 'src/application/', (path, source) => found(UNPORTED, path, codeOnly(source)));

/** The only throws of the domain are those of its invariants; everything else is a value. */
export const throwingDomain = (tree: SourceTree): readonly string[] =>
  check(tree, 'src/domain/', (path, source) =>
    path !== 'src/domain/kernel/invariant.ts' && /\bthrow\b/.test(codeOnly(source)) ? [`${path} throws`] : [],
  );

export const strayStatements = (tree: SourceTree): readonly string[] =>
  check(tree, 'src/', (path, source) =>
    !SQL_ZONES.some((zone) => path.startsWith(zone)) && SQL.test(withoutComments(source)) ? [`${path} holds SQL`] : [],
  );

export const focusedOrSkippedTests = (tree: SourceTree): readonly string[] =>
  check(tree, 'test/', (path, source) =>
    FOCUS_OR_SKIP.test(codeOnly(source)) ? [`${path} focuses on or skips a test`] : [],
  );

export const unfinishedWork = (tree: SourceTree): readonly string[] =>
  check(tree, '', (path, source) => (UNFINISHED.test(source) ? [`${path} is unfinished`] : []));
