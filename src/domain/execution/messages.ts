import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { jsonBytes } from '../kernel/json-depth.ts';
import { formatInstant } from '../kernel/time.ts';
import type { MessageReceived } from './events.ts';
import { type ExecutionState, lookAgainAt, type TaskEntry } from './state.ts';

/** Messages that may wait for the tasks of one run at a time. */
export const MESSAGES_WAITING_MAX = 1_000;
/** Bytes of JSON that these may hold together: whatever one task takes of them fits into its output. */
export const MESSAGES_BYTES_MAX = 8 * 1024 * 1024;

const BATCH_SIZE_DEFAULT = 1;

export type Pull = Readonly<{ batchSize: number; blocking: boolean }>;

const flagOf = (value: JsonValue | undefined): boolean | undefined => {
  if (typeof value === 'boolean') return value;
  return value === 'true' ? true : value === 'false' ? false : undefined;
};

const isBatchSize = (value: number): boolean => Number.isInteger(value) && value >= 1 && value <= MESSAGES_WAITING_MAX;

/** What a PULL_WORKFLOW_MESSAGES asks for; a text says what about its input makes no sense. */
export const pullOf = (input: JsonValue): Pull | string => {
  const given = isJsonObject(input) ? input : {};
  const batchSize = given.batchSize ?? BATCH_SIZE_DEFAULT;
  const blocking = flagOf(given.blocking ?? true);
  if (!isBatchSize(Number(batchSize))) {
    return `batchSize is a number from 1 to ${MESSAGES_WAITING_MAX}; it is ${JSON.stringify(batchSize).slice(0, 200)}.`;
  }
  if (blocking === undefined)
    return `blocking is true or false; it is ${JSON.stringify(given.blocking).slice(0, 200)}.`;
  return { batchSize: Number(batchSize), blocking };
};

/** Whether a task would take messages, or go on without. */
const isReader = (entry: TaskEntry): boolean => entry.node.type === 'PULL_WORKFLOW_MESSAGES';

const wireOf = (state: ExecutionState, { id, at, payload }: MessageReceived): JsonObject => ({
  id,
  workflowId: state.executionId,
  payload,
  receivedAt: formatInstant(at),
});

export type Pulled = Readonly<{ output: JsonObject; messagesTaken: number }>;

/** What an open PULL_WORKFLOW_MESSAGES takes now; undefined: it waits, or the task is another. */
export const pulled = (state: ExecutionState, entry: TaskEntry): Pulled | undefined => {
  if (!isReader(entry) || entry.phase.kind !== 'attempt') return undefined;
  const pull = pullOf(entry.phase.scheduled.input);
  if (typeof pull === 'string' || (pull.blocking && state.messages.length === 0)) return undefined;
  const messages = state.messages.slice(0, pull.batchSize).map((message) => wireOf(state, message));
  return { output: { messages, count: messages.length }, messagesTaken: messages.length };
};

export const messageReceived = (state: ExecutionState, event: MessageReceived): void => {
  state.messages.push(event);
  state.messageBytes += jsonBytes(event.payload);
  for (const key of state.messageReaders) lookAgainAt(state, key);
};

/** A task that reads messages was opened: the next decision looks whether there are some. */
export const readerOpened = (state: ExecutionState, entry: TaskEntry): void => {
  if (!isReader(entry)) return;
  state.messageReaders.add(entry.key);
  lookAgainAt(state, entry.key);
};

/** It ended, and took the oldest messages with it. */
export const readerClosed = (state: ExecutionState, entry: TaskEntry, taken: number): void => {
  state.messageReaders.delete(entry.key);
  for (const { payload } of state.messages.splice(0, taken)) state.messageBytes -= jsonBytes(payload);
};
