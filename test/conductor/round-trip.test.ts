import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/domain/kernel/json.ts';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';

/** Public definitions, read where they are kept: other projects' data, which is not copied into this repository. */
const CORPUS = new URL('../../../shared/corpus/conductor-definitions.jsonl', import.meta.url);

type Entry = Readonly<{ source: string; definition: JsonObject }>;

const corpus: readonly Entry[] = readFileSync(CORPUS, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line));

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer();
});
afterAll(() => server.close());

/** One in so many, and all that write out the definition of a task: the whole corpus takes longer than it tells. */
const ONE_IN = 8;
const chosen = corpus.filter(
  ({ definition }, index) => index % ONE_IN === 0 || JSON.stringify(definition).includes('"taskDefinition":{'),
);

/** Fields of a definition that Conductor's own models do not have, or that a server sets itself. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  'createTime',
  'updateTime',
  'createdBy',
  'updatedBy',
  'ownerApp',
  'accessPolicy',
]);

/** Where what came back lacks or changes something that was given. */
const lost = (given: JsonValue | undefined, got: JsonValue | undefined, path: string): readonly string[] => {
  if (given === undefined || given === null || given === '') return [];
  if (Array.isArray(given)) {
    if (!Array.isArray(got)) return given.length === 0 ? [] : [path];
    return given.flatMap((each: JsonValue, index) => lost(each, got[index], `${path}[${index}]`));
  }
  if (isJsonObject(given)) {
    if (!isJsonObject(got)) return Object.keys(given).length === 0 ? [] : [path];
    return Object.entries(given)
      .filter(([name]) => !NOT_KEPT.has(name))
      .flatMap(([name, value]) => lost(value, got[name], `${path}.${name}`));
  }
  return String(got) === String(given) ? [] : [path];
};

it('a definition comes back with all that was registered', async () => {
  const losses = new Map<string, string>();
  let compared = 0;
  for (const [index, { source, definition }] of chosen.entries()) {
    const name = `r_${index}`;
    const document = { ...definition, name, version: 1 };
    const registered = await server.send('POST', '/api/metadata/workflow', { json: document });
    // Some are refused on purpose: that is another test's business.
    if (registered.status !== 200) continue;
    compared += 1;
    const got = (await server.send('GET', `/api/metadata/workflow/${name}`)).json as JsonObject;
    for (const path of lost(document, got, '')) losses.set(path.replaceAll(/\[\d+\]/g, '[]'), `${source} ${path}`);
  }
  expect(compared).toBeGreaterThan(chosen.length / 2);
  // A step of Conductor's has no outputParameters of its own.
  losses.delete('.tasks[].outputParameters');
  expect([...losses]).toEqual([]);
});
