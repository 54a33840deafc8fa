import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';

/** Read where it is kept: the definitions are other projects' data and are not copied into this repository. */
const CORPUS = new URL('../../../shared/corpus/conductor-definitions.jsonl', import.meta.url);

let server: ConductorServer;

beforeAll(async () => {
  server = await startConductorServer();
});
afterAll(() => server.close());

test('every public definition registers at the door as it is, and is read with its own steps', async () => {
  const lines = readFileSync(CORPUS, 'utf8').split('\n');
  const definitions = lines.filter((line) => line !== '').map((line) => JSON.parse(line).definition);
  const refused: string[] = [];
  for (const json of definitions) {
    const answer = await server.send('POST', '/api/metadata/workflow?overwrite=true', { json });
    if (answer.status !== 200 || answer.text !== '') refused.push(`${json.name}: ${answer.text}`);
  }
  expect(definitions.length).toBeGreaterThan(500);
  expect(refused).toEqual([]);
  const last = definitions.at(-1);
  const stored = await server.send('GET', `/api/metadata/workflow/${encodeURIComponent(last.name)}`);
  const refs = (tasks: readonly Readonly<{ taskReferenceName: string }>[]) =>
    tasks.map((task) => task.taskReferenceName);
  expect(refs((stored.json as typeof last).tasks)).toEqual(refs(last.tasks));
  expect(server.problems).toEqual([]);
});
