export type { JsonObject, JsonValue } from '../domain/kernel/json.ts';
export type { Mock, MockedTask, MockOutcome, Mocks } from './mocks.ts';
export { type Replay, type ReplayOptions, replay } from './replay.ts';
export { type CaseReport, runTestFile, type TestFileReport } from './run-test-file.ts';
export {
  type SimulatedRun,
  type SimulatedTask,
  type SimulateOptions,
  type Simulation,
  SimulationError,
  simulate,
} from './simulate.ts';
