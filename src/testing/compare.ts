import { canonicalJson } from '../domain/kernel/canonical-json.ts';
import { isJsonObject, type JsonValue } from '../domain/kernel/json.ts';
import { childPath } from '../domain/kernel/value-path.ts';
import type { SimulatedTask, Simulation } from './simulate.ts';
import type { Expectation } from './test-file.ts';

/** One thing that is not as expected. */
export type Difference = Readonly<{ path: string; expected: JsonValue; found: JsonValue }>;

/** Objects may hold more than is expected, lists and all else may not. */
export const differences = (path: string, expected: JsonValue, found: JsonValue | undefined): readonly Difference[] => {
  if (isJsonObject(expected) && isJsonObject(found)) {
    return Object.entries(expected).flatMap(([key, value]) =>
      differences(childPath(path, key), value, Object.hasOwn(found, key) ? found[key] : undefined),
    );
  }
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length) {
    return expected.flatMap((item, index) => differences(childPath(path, index), item, found[index]));
  }
  return canonicalJson(expected) === canonicalJson(found ?? null) ? [] : [{ path, expected, found: found ?? null }];
};

const optionally = (path: string, expected: JsonValue | undefined, found: JsonValue | undefined) =>
  expected === undefined ? [] : differences(path, expected, found);

/** A part of a text is enough. */
const partly = (path: string, expected: string | undefined, found: string | undefined): readonly Difference[] =>
  expected === undefined || found?.includes(expected) === true ? [] : [{ path, expected, found: found ?? null }];

type TaskExpectation = NonNullable<Expectation['tasks']>[string];

const taskDifferences = (
  path: string,
  expected: TaskExpectation,
  attempts: readonly SimulatedTask[],
): readonly Difference[] => {
  const last = attempts.at(-1);
  const hasRun = last !== undefined && last.status !== 'SKIPPED';
  if (expected === null) return hasRun ? [{ path, expected: null, found: last.status }] : [];
  if (last === undefined) return [{ path, expected: expected as JsonValue, found: null }];
  if (typeof expected === 'string') return differences(path, expected, last.status);
  return [
    ...optionally(childPath(path, 'status'), expected.status, last.status),
    ...optionally(childPath(path, 'attempts'), expected.attempts, attempts.length),
    ...optionally(childPath(path, 'input'), expected.input, last.input),
    ...optionally(childPath(path, 'output'), expected.output, last.output),
    ...partly(childPath(path, 'reason'), expected.reason, last.reason),
  ];
};

const elapsedDifferences = ({ elapsedSecondsMin, elapsedSecondsMax }: Expectation, elapsedMs: number) => {
  const found = elapsedMs / 1_000;
  return [
    ...(elapsedSecondsMin === undefined || found >= elapsedSecondsMin
      ? []
      : [{ path: 'elapsedSecondsMin', expected: elapsedSecondsMin, found }]),
    ...(elapsedSecondsMax === undefined || found <= elapsedSecondsMax
      ? []
      : [{ path: 'elapsedSecondsMax', expected: elapsedSecondsMax, found }]),
  ];
};

/** All in which a simulation is not as expected. */
export const compare = (expected: Expectation, simulation: Simulation): readonly Difference[] => [
  ...optionally('status', expected.status, simulation.status),
  ...partly('reason', expected.reason, simulation.reason),
  ...optionally('failedTask', expected.failedTask, simulation.failedTask),
  ...optionally('output', expected.output, simulation.output),
  ...optionally('variables', expected.variables, simulation.variables),
  ...Object.entries(expected.tasks ?? {}).flatMap(([ref, task]) =>
    taskDifferences(
      childPath('tasks', ref),
      task,
      simulation.tasks.filter((one) => one.ref === ref),
    ),
  ),
  ...optionally('unmocked', expected.unmocked, simulation.unmocked),
  ...Object.entries(expected.otherRuns ?? {}).flatMap(([workflow, status]) =>
    differences(
      childPath('otherRuns', workflow),
      status,
      simulation.otherRuns.find((run) => run.workflow === workflow)?.status,
    ),
  ),
  ...elapsedDifferences(expected, simulation.elapsedMs),
];
