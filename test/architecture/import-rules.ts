import { posix } from 'node:path';
import { type Reference, referencesOf } from './source-text.ts';

/** A part of the tree with rules of its own; an adapter is one zone each. */
export type Zone = string;

/** Source files by their path from the root of the repository. */
export type SourceTree = ReadonlyMap<string, string>;

const INNER = ['domain', 'ports', 'application'] as const;

/** Which parts of our own tree a zone may import; what is imported as a type only may come from the second list too. */
const ARROWS: Readonly<Record<string, Readonly<{ values: readonly Zone[]; types: readonly Zone[] }>>> = {
  domain: { values: ['domain'], types: [] },
  ports: { values: ['domain', 'ports'], types: [] },
  application: { values: INNER, types: [] },
  client: { values: ['client'], types: ['domain', 'ports', 'adapters/http'] },
  testing: {
    values: [...INNER, 'testing', 'composition', 'adapters/json-schema', 'adapters/memory', 'adapters/sandbox'],
    types: [],
  },
  worker: { values: ['worker', 'client'], types: ['domain', 'ports', 'adapters/http'] },
};

const ADAPTER = { values: ['domain', 'ports'], types: [] };
const DRIVING_ADAPTER = { values: INNER, types: [] };
const CLI = { values: [...INNER, 'client', 'worker'], types: [] };
const DRIVING_ADAPTERS: Readonly<Record<string, typeof ADAPTER | typeof DRIVING_ADAPTER | typeof CLI>> = {
  'adapters/http': DRIVING_ADAPTER,
  'adapters/cli': CLI,
};

/** Where each library may be imported. A new dependency gets its place here. */
const LIBRARIES: readonly (readonly [name: RegExp, zones: readonly Zone[]])[] = [
  [
    /^zod$/,
    [
      'domain/definition',
      'application',
      'adapters/http',
      'adapters/postgres',
      'adapters/cli',
      'client',
      'composition',
      'testing',
    ],
  ],
  [
    /^rxjs(\/operators)?$/,
    ['ports', 'application', 'adapters/http', 'adapters/memory', 'adapters/postgres', 'composition'],
  ],
  [/^(slonik|@slonik\/.*)$/, ['adapters/postgres']],
  [/^pg$/, ['adapters/postgres', 'adapters/embedded-postgres']],
  [/^(undici|ipaddr\.js)$/, ['adapters/outbound']],
  [/^croner$/, ['adapters/cron']],
  [/^express$/, ['adapters/http']],
  [/^pino$/, ['adapters/http', 'composition', 'main']],
  [/^jose$/, ['adapters/keys']],
  [/^(commander|cli-table3)$/, ['adapters/cli']],
  [/^(quickjs-emscripten(-core)?|@jitl\/.*|jq-web)$/, ['adapters/sandbox']],
  [/^(ajv|ajv\/.*|ajv-formats)$/, ['adapters/json-schema', 'adapters/schema']],
  [/^(tsyringe|reflect-metadata)$/, ['composition', 'main']],
];

/** Nothing of Node: these run anywhere, or inside a pass. */
const WITHOUT_NODE: readonly Zone[] = ['domain', 'ports', 'application'];

export const zoneOf = (path: string): Zone => {
  const [, layer = '', name = ''] = path.split('/');
  if (layer.endsWith('.ts')) return layer.slice(0, -'.ts'.length);
  return layer === 'adapters' ? `adapters/${name}` : layer;
};

const isWithin = (path: string, zone: Zone): boolean => path === `src/${zone}.ts` || path.startsWith(`src/${zone}/`);

const isRelative = ({ specifier }: Reference): boolean => specifier.startsWith('.');

export const targetOf = (path: string, specifier: string): string => posix.join(posix.dirname(path), specifier);

const mayImport = (zone: Zone, target: Zone, typeOnly: boolean): boolean => {
  if (zone === target || zone === 'composition' || zone === 'main') return true;
  const arrows = ARROWS[zone] ?? DRIVING_ADAPTERS[zone] ?? ADAPTER;
  return arrows.values.includes(target) || (typeOnly && arrows.types.includes(target));
};

const ownViolation = (path: string, { specifier, typeOnly }: Reference): string | undefined => {
  const target = targetOf(path, specifier);
  if (!target.startsWith('src/')) {
    return /^package\.json$/.test(target) ? undefined : `${path} imports ${specifier} from outside src`;
  }
  return mayImport(zoneOf(path), zoneOf(target), typeOnly) ? undefined : `${path} must not import ${target}`;
};

const libraryViolation = (path: string, { specifier }: Reference): string | undefined => {
  if (specifier.startsWith('node:')) {
    return WITHOUT_NODE.includes(zoneOf(path)) ? `${path} must not import ${specifier}` : undefined;
  }
  const zones = LIBRARIES.find(([name]) => name.test(specifier))?.[1];
  if (zones === undefined) return `${path} imports ${specifier}, which has no place in the architecture`;
  return zones.some((zone) => isWithin(path, zone)) ? undefined : `${path} must not import the library ${specifier}`;
};

/** Imports that go against the arrows, and libraries out of their place. */
export const arrowViolations = (tree: SourceTree): readonly string[] =>
  [...tree].flatMap(([path, source]) =>
    referencesOf(source).flatMap(
      (reference) => (isRelative(reference) ? ownViolation(path, reference) : libraryViolation(path, reference)) ?? [],
    ),
  );

/** Relative imports that do not name a file by its whole name. */
export const unresolvedImports = (tree: SourceTree, exists: (path: string) => boolean): readonly string[] =>
  [...tree].flatMap(([path, source]) =>
    referencesOf(source)
      .filter(isRelative)
      .filter(({ specifier }) => !/\.(ts|mjs|json)$/.test(specifier) || !exists(targetOf(path, specifier)))
      .map(({ specifier }) => `${path} imports ${specifier}, which is not the whole name of a file`),
  );

/** Files of src that no entry leads to. */
export const deadFiles = (tree: SourceTree, entries: readonly string[]): readonly string[] => {
  const reached = new Set<string>();
  const open = [...entries];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    const source = tree.get(path) ?? '';
    for (const reference of referencesOf(source).filter(isRelative)) open.push(targetOf(path, reference.specifier));
  }
  return [...tree.keys()].filter((path) => path.startsWith('src/') && !path.endsWith('.d.ts') && !reached.has(path));
};
