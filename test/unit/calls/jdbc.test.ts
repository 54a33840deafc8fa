import { describe, expect, it } from 'vitest';
import { jdbcCallOf, jdbcTask, ROWS_MAX } from '../../../src/application/calls/jdbc-task.ts';
import { numberedPlaceholders } from '../../../src/application/calls/numbered-placeholders.ts';
import { checkDefinition } from '../../../src/domain/definition/check-definition.ts';
import { parseWorkflowDefinition } from '../../../src/domain/definition/parse-definition.ts';
import type { Dialect } from '../../../src/domain/definition/workflow-definition.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import { err, ok } from '../../../src/domain/kernel/result.ts';

const signal = new AbortController().signal;
const given = { datasource: 'orders', statement: 'select 1' };

describe('a JDBC task', () => {
  it.each([
    ['select * from t where a = ? and b = ?', 'select * from t where a = $1 and b = $2'],
    [`select '?', "?", '''?' where a = ?`, `select '?', "?", '''?' where a = $1`],
    ['select 1 -- why?\n, ? /* ? */', 'select 1 -- why?\n, $1 /* ? */'],
    ['select $$ ? $$, $x$ ? $$ ? $x$, ?', 'select $$ ? $$, $x$ ? $$ ? $x$, $1'],
    ["insert into t values (?, 'a?b', ?)", "insert into t values ($1, 'a?b', $2)"],
  ])('numbers the placeholders of %j', (statement, numbered) => {
    expect(numberedPlaceholders(statement)).toBe(numbered);
  });

  it("is told in our words, or in Conductor's", () => {
    const ours = jdbcCallOf({ ...given, statement: 'select a ? 1', parameters: [1], rowsMax: 5, timeoutMs: 100 });
    expect(ours).toMatchObject({
      ok: true,
      value: {
        datasource: 'orders',
        request: { statement: 'select a ? 1', parameters: [1], rowsMax: 5, timeoutMs: 100 },
      },
    });
    const theirs = {
      connectionId: 'orders',
      statement: 'update t set a = ?',
      type: 'UPDATE',
      expectedUpdateCount: '1',
    };
    expect(jdbcCallOf({ ...theirs, parameters: [2] })).toMatchObject({
      ok: true,
      value: { isUpdate: true, request: { statement: 'update t set a = $1', expectedCount: 1 } },
    });
  });

  it.each([
    { statement: 'select 1' },
    { datasource: 'orders' },
    { ...given, parameters: 'x' },
    { ...given, rowsMax: ROWS_MAX + 1 },
    { ...given, rowsMax: 0 },
    { ...given, timeoutMs: 'x' },
    { ...given, expectedUpdateCount: -1 },
    { ...given, connectionString: 'postgres://elsewhere/db' },
    { ...given, password: 'x' },
  ] as readonly JsonObject[])('is refused as %j', (input) => expect(jdbcCallOf(input).ok).toBe(false));

  it('gives rows, or the number of rows that it changed', async () => {
    const datasources = { run: async () => ok({ rows: [{ a: 1 }], rowCount: 1 }) };
    expect(await jdbcTask(datasources, given, signal)).toMatchObject({
      finished: { status: 'COMPLETED', output: { result: [{ a: 1 }], rowCount: 1 } },
    });
    expect(await jdbcTask(datasources, { ...given, type: 'UPDATE' }, signal)).toMatchObject({
      finished: { output: { update_count: 1 } },
    });
  });

  it('fails for good, or so that another attempt may help, by what the database says', async () => {
    const failing = (retryable: boolean) => ({
      run: async () => err({ code: 'STATEMENT_FAILED', message: 'why', retryable } as const),
    });
    expect(await jdbcTask(failing(true), given, signal)).toMatchObject({
      finished: { status: 'FAILED', reason: 'STATEMENT_FAILED: why' },
    });
    expect(await jdbcTask(failing(false), given, signal)).toMatchObject({
      finished: { status: 'FAILED_WITH_TERMINAL_ERROR' },
    });
  });

  it.each(['v1', 'conductor'] as const)(
    'that brings a connection or a statement of data is refused at registration on %s',
    (door) => {
      const problems = (inputParameters: JsonObject) => problemsOf(inputParameters, door);
      expect(problems({ ...given, parameters: ['${workflow.input.x}'] })).toEqual([]);
      expect(problems({ ...given, url: 'postgres://elsewhere/db' })).toEqual(['tasks[0].inputParameters.url']);
      expect(problems({ ...given, statement: 'select ${workflow.input.x}' })).toEqual([
        'tasks[0].inputParameters.statement',
      ]);
      const missing = door === 'v1' ? ['tasks[0].inputParameters.datasource'] : [];
      expect(problems({ statement: 'select 1' })).toEqual(missing);
      expect(problems({ connectionId: 'orders', statement: 'select 1' })).toEqual([]);
    },
  );
});

const problemsOf = (inputParameters: JsonObject, door: Dialect): readonly string[] => {
  const step = { name: 'q', taskReferenceName: 'q', type: 'JDBC', inputParameters };
  const document: JsonValue = { name: 'queries', version: 1, tasks: [step] };
  const parsed = parseWorkflowDefinition(document, door);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return checkDefinition({ workflow: parsed.value, taskDefinitions: {} }, () => ok(undefined)).map(({ path }) => path);
};
