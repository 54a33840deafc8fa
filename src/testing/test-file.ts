import { z } from 'zod';
import type { JsonObject, JsonValue } from '../domain/kernel/json.ts';

const jsonValue = z.custom<JsonValue>((value) => value !== undefined, 'expected a value');
const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected an object',
);
const text = z.string();

const mockOutcome = z.strictObject({
  output: jsonObject.optional(),
  status: z.enum(['COMPLETED', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR']).optional(),
  reason: text.optional(),
  afterSeconds: z.number().min(0).optional(),
  never: z.boolean().optional(),
});

const taskExpectation = z.strictObject({
  status: text.optional(),
  /** Attempts it took. */
  attempts: z.int().min(1).optional(),
  input: jsonValue.optional(),
  output: jsonValue.optional(),
  /** A part of it. */
  reason: text.optional(),
});

export const expectation = z.strictObject({
  status: z.enum(['COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED', 'RUNNING', 'PAUSED']).optional(),
  output: jsonValue.optional(),
  variables: jsonValue.optional(),
  /** A part of it. */
  reason: text.optional(),
  failedTask: text.optional(),
  /** By ref, with the suffixes of loops: a status, more about it, or null for one that must not run. */
  tasks: z.record(text, z.union([text, taskExpectation, z.null()])).optional(),
  unmocked: z.array(text).optional(),
  /** Of the other runs that it led to, by the name of their workflow: how they ended. */
  otherRuns: z.record(text, text).optional(),
  elapsedSecondsMin: z.number().optional(),
  elapsedSecondsMax: z.number().optional(),
});
export type Expectation = z.output<typeof expectation>;

/** A document in place, or the path of a file that holds one or a list of them, from where this file is. */
const documents = z.array(z.union([text, jsonObject]));

export const testCase = z.strictObject({
  name: text.min(1),
  /** Which of the definitions runs; the first unless told. */
  workflow: text.optional(),
  input: jsonObject.optional(),
  mocks: z.record(text, z.union([mockOutcome, z.array(mockOutcome).min(1)])).optional(),
  correlationId: text.optional(),
  taskToDomain: z.record(text, text).optional(),
  environment: z.record(text, text).optional(),
  virtualSecondsMax: z.number().positive().optional(),
  expect: expectation,
});
export type TestCase = z.output<typeof testCase>;

/** What `rondo test` reads. */
export const testFile = z.strictObject({
  definitions: documents.min(1),
  taskDefinitions: documents.optional(),
  dialect: z.enum(['v1', 'conductor']).optional(),
  cases: z.array(testCase).min(1),
});
export type TestFile = z.output<typeof testFile>;
