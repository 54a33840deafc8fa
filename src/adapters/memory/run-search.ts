import type { WorkflowEvent } from '../../domain/execution/events.ts';
import { type Namespace, parseTaskId } from '../../domain/kernel/brand.ts';
import { isJsonObject, type JsonValue } from '../../domain/kernel/json.ts';
import type { ExecutionRow, FoundRuns } from '../../ports/execution-index.ts';
import {
  type FieldTest,
  type PayloadField,
  RUN_FIELDS,
  type RunCondition,
  type RunField,
  type RunQuery,
  type RunSort,
  type TaskField,
} from '../../ports/run-query.ts';
import type { StoredExecution } from './rows.ts';
import type { MemoryState } from './state.ts';

type Scalar = string | number;

const SPECIAL = /[.+?^${}()|[\]\\]/g;

const isLike = (value: string, pattern: string): boolean =>
  new RegExp(`^${pattern.replace(SPECIAL, '\\$&').replaceAll('*', '[^]*')}$`, 'u').test(value);

/** Text by its code points, as the store compares it. */
const compare = (a: Scalar, b: Scalar): number => (a < b ? -1 : a > b ? 1 : 0);

const fits = (value: Scalar | undefined, test: FieldTest, isNumber: boolean): boolean => {
  if (test.operator === 'absent') return value === undefined;
  if (value === undefined) return false;
  const read = (wanted: Scalar): Scalar => (isNumber ? Number(wanted) : String(wanted));
  switch (test.operator) {
    case 'in':
      return test.values.some((wanted) => read(wanted) === value);
    case 'like':
      return isLike(String(value), test.pattern);
    case '=':
      return read(test.value) === value;
    case '<':
      return compare(value, read(test.value)) < 0;
    case '<=':
      return compare(value, read(test.value)) <= 0;
    case '>':
      return compare(value, read(test.value)) > 0;
    case '>=':
      return compare(value, read(test.value)) >= 0;
    default:
      return test satisfies never;
  }
};

const runTest = (row: StoredExecution, field: RunField, test: FieldTest): boolean => {
  const kind = RUN_FIELDS[field];
  if (kind === 'instant' && test.operator === 'like') return false;
  return fits(row[field], test, kind !== 'text');
};

const textAt = (value: JsonValue | undefined, path: readonly string[]): string | undefined => {
  const [name, ...rest] = path;
  if (name !== undefined) {
    if (Array.isArray(value)) return textAt(value.at(Number(name)), rest);
    return isJsonObject(value) && Object.hasOwn(value, name) ? textAt(value[name], rest) : undefined;
  }
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const payloadTest = (row: StoredExecution, { payload, path }: PayloadField, test: FieldTest): boolean =>
  fits(textAt(payload === 'input' ? row.input : row.output, path), test, false);

const ENDS: ReadonlySet<string> = new Set(['TaskClosed', 'OperatorResolved', 'OperatorClosed', 'TaskRefused']);

const textOf = (event: WorkflowEvent, name: string): string | undefined => {
  const value: unknown = (event as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : undefined;
};

const isOfType = (event: WorkflowEvent, test: FieldTest): boolean => {
  const type = textOf(event, 'taskType');
  if (fits(type ?? textOf(event, 'operator'), test, false)) return true;
  return (type === 'SIMPLE' || type === 'DYNAMIC') && fits(textOf(event, 'taskName'), test, false);
};

const taskTest = (state: MemoryState, row: StoredExecution, { task }: TaskField, test: FieldTest): boolean => {
  const log = state.events.get(row.executionId);
  switch (task) {
    case 'taskId': {
      const values = test.operator === '=' ? [test.value] : test.operator === 'in' ? test.values : [];
      const tasks = values.map((value) => parseTaskId(String(value)));
      return tasks.some(
        (one) => one?.executionId === row.executionId && log.some(({ seq }) => seq === one.scheduledSeq),
      );
    }
    case 'taskType':
      return log.some(({ event }) => isOfType(event, test));
    case 'status': {
      const ended = log.some(({ event }) => ENDS.has(event.type) && fits(textOf(event, 'status'), test, false));
      if (ended) return true;
      const open = [...state.tables.openTasks.byRun.in(row.executionId)];
      return open.some((each) => {
        const isTaken = each.lease !== undefined || each.task.family === 'waiting';
        return fits(isTaken ? 'IN_PROGRESS' : 'SCHEDULED', test, false);
      });
    }
    default:
      return log.some(({ event }) => fits(textOf(event, task), test, false));
  }
};

const holds = (value: JsonValue | undefined, wanted: JsonValue): boolean => {
  if (Array.isArray(wanted)) {
    return Array.isArray(value) && wanted.every((item) => value.some((candidate) => holds(candidate, item)));
  }
  if (isJsonObject(wanted)) {
    return (
      isJsonObject(value) &&
      Object.entries(wanted).every(([key, item]) => Object.hasOwn(value, key) && holds(value[key], item))
    );
  }
  return value === wanted;
};

const hasWords = (row: StoredExecution, text: string): boolean => {
  const { executionId, name, correlationId, reason, input, output } = row;
  const texts = [executionId, name, correlationId, reason, JSON.stringify(input), output && JSON.stringify(output)];
  return texts.some((each) => each !== undefined && isLike(each.toLowerCase(), `*${text.toLowerCase()}*`));
};

const isWanted = (state: MemoryState, row: StoredExecution, condition: RunCondition): boolean => {
  switch (condition.kind) {
    case 'all':
      return condition.of.every((each) => isWanted(state, row, each));
    case 'any':
      return condition.of.some((each) => isWanted(state, row, each));
    case 'not':
      return !isWanted(state, row, condition.of);
    case 'words':
      return hasWords(row, condition.text);
    case 'holds':
      return holds(row.input, condition.document) || holds(row.output, condition.document);
    case 'field': {
      const { field, test } = condition;
      if (typeof field === 'string') return runTest(row, field, test);
      return 'payload' in field ? payloadTest(row, field, test) : taskTest(state, row, field, test);
    }
    default:
      return condition satisfies never;
  }
};

/** What is absent comes last in either direction. */
const bySort =
  (sort: readonly RunSort[]) =>
  (a: StoredExecution, b: StoredExecution): number => {
    for (const { field, descending } of sort) {
      const [left, right] = [a[field], b[field]];
      if (left === right) continue;
      if (left === undefined) return 1;
      if (right === undefined) return -1;
      return descending ? compare(right, left) : compare(left, right);
    }
    return 0;
  };

const rowOf = (row: StoredExecution): ExecutionRow => row;

export const searchRuns = (state: MemoryState, namespace: Namespace, query: RunQuery): FoundRuns => {
  const wanted = [...state.tables.executions.newestFirst.in(namespace)].filter((row) =>
    isWanted(state, row, query.condition),
  );
  const rows = wanted.toSorted(bySort(query.sort)).slice(query.offset, query.offset + query.limit);
  return { rows: rows.map(rowOf), total: Math.min(wanted.length, query.countMax) };
};
