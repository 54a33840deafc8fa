/**
 * Registers examples, starts their workers, runs them and prints what came of it, with nothing but HTTP and `rondo/worker`:
 *
 *     node examples/run.ts              all
 *     node examples/run.ts order loop   these
 *
 * RONDO_URL, RONDO_NAMESPACE and RONDO_API_KEY say where the server is.
 */
import { readFile } from 'node:fs/promises';
import { type Connection, connectionFromEnvironment } from './connection.ts';
import { EXAMPLES, type Example } from './examples.ts';

const WAIT_SECONDS = 60;

type Execution = Readonly<{ workflowId: string; status: string; reason?: string; output?: object }>;

const post = async <T>({ url, namespace, apiKey }: Connection, path: string, body: unknown): Promise<T> => {
  const response = await fetch(`${url}/v1/ns/${namespace}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
};

const readJson = async (folder: string, file: string): Promise<unknown> =>
  JSON.parse(await readFile(new URL(`${folder}/${file}`, import.meta.url), 'utf8'));

const register = async (connection: Connection, { folder, workflows }: Example): Promise<void> => {
  const tasks = (await readJson(folder, 'tasks.json')) as readonly unknown[];
  for (const task of tasks) await post(connection, '/definitions/tasks', task);
  for (const file of workflows) {
    await post(connection, '/definitions/workflows', await readJson(folder, file));
  }
};

const runExample = async (connection: Connection, example: Example): Promise<void> => {
  await register(connection, example);
  const worker = example.createWorker(connection);
  worker.start();
  try {
    for (const { workflow, title, input } of example.runs) {
      const startedAt = performance.now();
      const body = { input, waitSeconds: WAIT_SECONDS };
      const run = await post<Execution>(connection, `/executions/${workflow}/execute`, body);
      const tookMs = Math.round(performance.now() - startedAt);
      const end = run.reason === undefined ? JSON.stringify(run.output) : run.reason;
      console.log(`${workflow}: ${title}: ${run.status} in ${tookMs} ms: ${end}`);
    }
  } finally {
    await worker.stop();
  }
};

const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(EXAMPLES);
for (const name of chosen) {
  const example = EXAMPLES[name];
  if (example === undefined) throw new Error(`no example ${name}; there are ${Object.keys(EXAMPLES).join(', ')}`);
  await runExample(connectionFromEnvironment(), example);
}
