import type { JsonObject } from '../domain/kernel/json.ts';

/** What is on record of a run as a whole, by kind. */
export const RUN_FIELDS = {
  executionId: 'text',
  name: 'text',
  version: 'number',
  status: 'text',
  correlationId: 'text',
  idempotencyKey: 'text',
  parentExecutionId: 'text',
  priority: 'number',
  reason: 'text',
  failedTask: 'text',
  startedAt: 'instant',
  updatedAt: 'instant',
  endedAt: 'instant',
} as const;

export type RunField = keyof typeof RUN_FIELDS;

/** A place in the input or output of a run; what is there is compared as text. */
export type PayloadField = Readonly<{ payload: 'input' | 'output'; path: readonly string[] }>;

/** What some task of a run has: its id, its type and name, its wire ref without iteration, or the status it is or ended in. */
export type TaskField = Readonly<{ task: 'taskId' | 'taskType' | 'taskName' | 'ref' | 'status' }>;

export type QueryField = RunField | PayloadField | TaskField;

/** Numbers for numbers and instants, else text. A `like` has `*` for any run of characters. */
export type FieldTest =
  | Readonly<{ operator: '=' | '<' | '<=' | '>' | '>='; value: string | number }>
  | Readonly<{ operator: 'in'; values: readonly (string | number)[] }>
  | Readonly<{ operator: 'like'; pattern: string }>
  | Readonly<{ operator: 'absent' }>;

/**
 * Which runs are wanted. What is absent fits no test but `absent`, and so fits every `not`. Of a payload and of tasks only `=`,
 * `in` and `like` can be asked.
 */
export type RunCondition =
  | Readonly<{ kind: 'all' | 'any'; of: readonly RunCondition[] }>
  | Readonly<{ kind: 'not'; of: RunCondition }>
  | Readonly<{ kind: 'field'; field: QueryField; test: FieldTest }>
  /** Text that stands anywhere in ids, names, reason, input or output, whatever its case. */
  | Readonly<{ kind: 'words'; text: string }>
  /** Input or output has all of the document in it. */
  | Readonly<{ kind: 'holds'; document: JsonObject }>;

export type RunSort = Readonly<{ field: RunField; descending: boolean }>;

export type RunQuery = Readonly<{
  condition: RunCondition;
  /** The newest first where these leave it open. */
  sort: readonly RunSort[];
  offset: number;
  limit: number;
  /** Up to how many are counted. */
  countMax: number;
}>;
