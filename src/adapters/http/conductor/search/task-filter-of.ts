import type { TaskStatus } from '../../../../domain/execution/statuses.ts';
import { type Instant, parseExecutionId, type TaskId } from '../../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { TaskFilter } from '../../../../ports/execution-index.ts';
import type { FieldTest, QueryField, RunCondition } from '../../../../ports/run-query.ts';
import type { ApiError } from '../../api-error.ts';
import { parseSearch } from './parse-search.ts';

type Mutable = { -readonly [K in keyof TaskFilter]: TaskFilter[K] };

const refuse = (message: string) => err<ApiError>({ code: 'VALIDATION_FAILED', message, path: 'query' });

/** Which lists of the filter a field goes into. */
const LISTS = {
  executionId: 'executionIds',
  name: 'workflowNames',
  correlationId: 'correlationIds',
  taskId: 'taskIds',
  taskType: 'types',
  taskName: 'taskNames',
  status: 'statuses',
} as const;

const INSTANTS = {
  startedAt: ['startedAfter', 'startedBefore'],
  endedAt: ['endedAfter', 'endedBefore'],
  // A task changes last when it ends.
  updatedAt: ['endedAfter', 'endedBefore'],
} as const;

const nameOf = (field: QueryField): string => {
  if (typeof field === 'string') return field === 'status' ? 'status of the run' : field;
  return 'task' in field ? field.task : `${field.payload}.${field.path.join('.')}`;
};

const valuesOf = (test: FieldTest): readonly string[] | undefined => {
  if (test.operator === '=') return [String(test.value)];
  return test.operator === 'in' ? test.values.map(String) : undefined;
};

/** What is in both, where both are given. */
const both = <T>(before: readonly T[] | undefined, values: readonly T[]): readonly T[] =>
  before === undefined ? values : values.filter((value) => before.includes(value));

const addList = (filter: Mutable, list: (typeof LISTS)[keyof typeof LISTS], values: readonly string[]): void => {
  if (list === 'executionIds') {
    // What could be the id of no run is that of none.
    const ids = values.map(parseExecutionId).filter((id) => id !== undefined);
    filter.executionIds = both(filter.executionIds, ids);
  } else if (list === 'taskIds') filter.taskIds = both(filter.taskIds, values as readonly TaskId[]);
  else if (list === 'statuses') filter.statuses = both(filter.statuses, values as readonly TaskStatus[]);
  else filter[list] = both(filter[list], values);
};

const addInstant = (filter: Mutable, field: keyof typeof INSTANTS, test: FieldTest): boolean => {
  const [after, before] = INSTANTS[field];
  if (!('value' in test) || typeof test.value !== 'number') return false;
  const at = test.value;
  const from = test.operator === '>' ? at + 1 : at;
  const to = test.operator === '<' ? at : at + 1;
  const isLower = test.operator !== '<' && test.operator !== '<=';
  const isUpper = test.operator !== '>' && test.operator !== '>=';
  if (isLower) filter[after] = Math.max(filter[after] ?? 0, from) as Instant;
  if (isUpper) filter[before] = Math.min(filter[before] ?? Number.MAX_SAFE_INTEGER, to) as Instant;
  return true;
};

const addField = (filter: Mutable, field: QueryField, test: FieldTest): Result<null, ApiError> => {
  const key = typeof field === 'string' ? field : 'task' in field ? field.task : '';
  if (typeof field === 'string' && Object.hasOwn(INSTANTS, field)) {
    const isTaken = addInstant(filter, field as keyof typeof INSTANTS, test);
    return isTaken ? ok(null) : refuse(`${field} is compared by =, <, <=, > and >= in a search of tasks.`);
  }
  const isOfRun = field === 'status';
  const list = isOfRun || !Object.hasOwn(LISTS, key) ? undefined : LISTS[key as keyof typeof LISTS];
  const values = valuesOf(test);
  if (list === undefined) return refuse(`Tasks are not searched by ${nameOf(field)}.`);
  if (values === undefined) return refuse(`${nameOf(field)} is compared by = and IN in a search of tasks.`);
  addList(filter, list, values);
  return ok(null);
};

const addAll = (filter: Mutable, condition: RunCondition): Result<null, ApiError> => {
  if (condition.kind === 'field') return addField(filter, condition.field, condition.test);
  if (condition.kind !== 'all') return refuse('In a search of tasks conditions are joined by AND alone.');
  for (const part of condition.of) {
    const added = addAll(filter, part);
    if (!added.ok) return added;
  }
  return ok(null);
};

/** The tasks that a query of Conductor's search asks for: conditions joined by AND. Errors: VALIDATION_FAILED. */
export const taskFilterOf = (query: string | undefined, freeText: string | undefined): Result<TaskFilter, ApiError> => {
  const condition = parseSearch(query ?? '', 'tasks');
  if (!condition.ok) return refuse(condition.error);
  const filter: Mutable = {};
  const added = addAll(filter, condition.value);
  if (!added.ok) return added;
  const words = (freeText ?? '').trim();
  // The only text without a field that tasks are found by is the id of their run.
  if (words !== '' && words !== '*') addList(filter, 'executionIds', [words]);
  return ok(filter);
};
