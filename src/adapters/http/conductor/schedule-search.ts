import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import type { ScheduleRun } from '../../../ports/schedule-store.ts';
import type { ApiError } from '../api-error.ts';
import { stateOf } from './wire/schedules.ts';

type Field = (run: ScheduleRun) => string | number;

const FIELDS: Readonly<Record<string, Field>> = {
  scheduleName: (run) => run.name,
  workflowName: (run) => run.workflowName,
  workflowType: (run) => run.workflowName,
  workflowId: (run) => run.executionId,
  executionId: (run) => run.executionId,
  state: stateOf,
  status: stateOf,
  scheduledTime: (run) => run.scheduledAt,
  executionTime: (run) => run.recordedAt,
};

const CONDITION = /^\s*([A-Za-z]+)\s*(=|<|>|IN)\s*(.+?)\s*$/i;
const QUOTES = /^(['"])(.*)\1$/;

const unquoted = (text: string): string => QUOTES.exec(text.trim())?.[2] ?? text.trim();

type Test = (run: ScheduleRun) => boolean;

const testOf = (condition: string): Test | undefined => {
  const [, name = '', sign = '', value = ''] = CONDITION.exec(condition) ?? [];
  const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  if (field === undefined) return undefined;
  if (sign === '<') return (run) => Number(field(run)) < Number(unquoted(value));
  if (sign === '>') return (run) => Number(field(run)) > Number(unquoted(value));
  const listed = sign === '=' ? [value] : value.replace(/^\((.*)\)$/, '$1').split(',');
  const wanted = new Set(listed.map(unquoted));
  return (run) => wanted.has(String(field(run)));
};

/** Conductor's search over the history of schedules: conditions joined by AND, and a text that is in a name. */
export const runFilter = (query: string | undefined, freeText: string | undefined): Result<Test, ApiError> => {
  const tests: Test[] = [];
  for (const condition of (query ?? '').split(/\s+AND\s+/i)) {
    if (condition.trim() === '' || condition.trim() === '*') continue;
    const test = testOf(condition);
    if (test === undefined) {
      const known = Object.keys(FIELDS).join(', ');
      const message = `The query ${condition.slice(0, 200)} is not field = value, field IN (…), < or > with one of ${known}.`;
      return err({ code: 'VALIDATION_FAILED', message, path: 'query' });
    }
    tests.push(test);
  }
  const text = freeText === undefined || freeText === '*' ? '' : freeText.toLowerCase();
  const names = ({ name, workflowName, executionId }: ScheduleRun) => `${name} ${workflowName} ${executionId}`;
  return ok((run) => names(run).toLowerCase().includes(text) && tests.every((test) => test(run)));
};
