import { dirname, isAbsolute, join } from 'node:path';
import type { ZodError } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/kernel/json.ts';
import { childPath } from '../domain/kernel/value-path.ts';
import { compare, type Difference } from './compare.ts';
import { type SimulateOptions, SimulationError, simulate } from './simulate.ts';
import { type TestCase, testFile } from './test-file.ts';

/** How one case came out. */
export type CaseReport = Readonly<{
  name: string;
  passed: boolean;
  differences: readonly Difference[];
  /** What ended it before it could be compared: a definition or an input that is refused. */
  error?: string;
  /** Where it did not end: what it waits for. */
  waitingFor: readonly string[];
  unmocked: readonly string[];
  problems: readonly string[];
  /** Virtual time of the run, and the time that simulating it took. */
  elapsedMs: number;
  tookMs: number;
}>;

/** How one file came out; with a `problem` it could not be read, and has no cases. */
export type TestFileReport = Readonly<{ file: string; problem?: string; cases: readonly CaseReport[] }>;

/** A file that is no test file, or names one that is no definition. */
class BadFile extends Error {
  override readonly name = 'BadFile';
}

type ReadFile = (path: string) => Promise<string>;

const readJson = async (readFile: ReadFile, path: string): Promise<JsonValue> => {
  try {
    return JSON.parse(await readFile(path)) as JsonValue;
  } catch (error) {
    throw new BadFile(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
};

const readDocuments = async (
  readFile: ReadFile,
  folder: string,
  given: readonly (string | JsonObject)[],
): Promise<readonly JsonObject[]> => {
  const found: JsonObject[] = [];
  for (const document of given) {
    const path = typeof document !== 'string' || isAbsolute(document) ? document : join(folder, document);
    const content = typeof path === 'string' ? await readJson(readFile, path) : path;
    for (const one of Array.isArray(content) ? content : [content]) {
      if (!isJsonObject(one)) throw new BadFile(`${JSON.stringify(document)} holds no definition`);
      found.push(one);
    }
  }
  return found;
};

const pathText = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, key) => childPath(text, typeof key === 'symbol' ? String(key) : key), '');

const problemOf = (error: ZodError): string =>
  error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${pathText(path)}: ${message}`)
    .join('; ');

type Loaded = Readonly<{
  definitions: readonly JsonObject[];
  taskDefs: readonly JsonObject[];
  dialect: NonNullable<SimulateOptions['dialect']>;
  cases: readonly TestCase[];
}>;

const load = async (file: string, readFile: ReadFile): Promise<Loaded> => {
  const parsed = testFile.safeParse(await readJson(readFile, file));
  if (!parsed.success) throw new BadFile(problemOf(parsed.error));
  const { definitions, taskDefinitions = [], dialect = 'v1', cases } = parsed.data;
  const loaded = {
    definitions: await readDocuments(readFile, dirname(file), definitions),
    taskDefs: await readDocuments(readFile, dirname(file), taskDefinitions),
    dialect,
    cases,
  };
  for (const { workflow, name } of cases) {
    if (workflow === undefined || loaded.definitions.some((one) => one.name === workflow)) continue;
    throw new BadFile(`case "${name}": there is no definition ${workflow}`);
  }
  return loaded;
};

const optionsOf = (loaded: Loaded, tested: JsonObject, one: TestCase): SimulateOptions => {
  const { input, mocks, correlationId, environment, taskToDomain, virtualSecondsMax } = one;
  return {
    taskDefs: loaded.taskDefs,
    subWorkflows: loaded.definitions.filter((definition) => definition !== tested),
    dialect: loaded.dialect,
    ...(input === undefined ? {} : { input }),
    ...(mocks === undefined ? {} : { mocks: mocks as NonNullable<SimulateOptions['mocks']> }),
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(taskToDomain === undefined ? {} : { taskToDomain }),
    ...(environment === undefined ? {} : { environment }),
    ...(virtualSecondsMax === undefined ? {} : { virtualSecondsMax }),
  };
};

const runCase = async (loaded: Loaded, one: TestCase): Promise<CaseReport> => {
  const { definitions } = loaded;
  const tested = definitions.find(({ name }) => name === one.workflow) ?? definitions[0] ?? {};
  const since = performance.now();
  const took = () => Math.round(performance.now() - since);
  try {
    const simulation = await simulate(tested, optionsOf(loaded, tested, one));
    const found = compare(one.expect, simulation);
    const { waitingFor, unmocked, problems, elapsedMs } = simulation;
    const passed = found.length === 0;
    return { name: one.name, passed, differences: found, waitingFor, unmocked, problems, elapsedMs, tookMs: took() };
  } catch (error) {
    if (!(error instanceof SimulationError)) throw error;
    const nothing = { differences: [], waitingFor: [], unmocked: [], problems: [], elapsedMs: 0 };
    return { name: one.name, passed: false, error: error.message, ...nothing, tookMs: took() };
  }
};

/** Runs the cases of one file, one after the other, without any server. */
export const runTestFile = async (file: string, readFile: ReadFile): Promise<TestFileReport> => {
  try {
    const loaded = await load(file, readFile);
    const cases: CaseReport[] = [];
    for (const one of loaded.cases) cases.push(await runCase(loaded, one));
    return { file, cases };
  } catch (error) {
    if (!(error instanceof BadFile)) throw error;
    return { file, problem: error.message, cases: [] };
  }
};
