import { describe, expect, test } from 'vitest';
import { compileTemplate } from '../../../src/domain/expression/parse-template.ts';
import { type References, referencesOf } from '../../../src/domain/expression/references.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';

const referencesIn = (value: JsonValue): References => {
  const compiled = compileTemplate(value, '');
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.error));
  return referencesOf(compiled.value);
};

const sorted = (names: ReadonlySet<string>): string[] => [...names].sort();

describe('what a template can read is known from its text', () => {
  test('tasks are the first segments that are no root', () => {
    const value = [
      '${t1.output.x}',
      'a ${workflow.input.y} ${t2.status}',
      { k: "${['t 3'].output}" },
      '${CPEWF_TASK_ID}',
      '$${t9.x}',
    ];
    expect(sorted(referencesIn(value).tasks)).toEqual(['t 3', 't1', 't2']);
    expect(referencesIn(value).hasUnknownHead).toBe(false);
  });

  test('the field and the name are told as far as they are plain', () => {
    expect(referencesIn(['${t1.output.x.y}', '${t2.output[0]}', '${t3..output}', '${t4}']).all).toEqual([
      { head: 't1', field: 'output', name: 'x' },
      { head: 't2', field: 'output', name: undefined },
      { head: 't3', field: undefined, name: undefined },
      { head: 't4', field: undefined, name: undefined },
    ]);
  });

  test('a task read inside a filter or a call counts', () => {
    const value = '${t1.output[?(@.a == $.t2.output.b && !(@.c[?(@.d > $.t3.output.e)]))].concat($.t4.output)}';
    expect(sorted(referencesIn(value).tasks)).toEqual(['t1', 't2', 't3', 't4']);
  });

  test('a nested expression counts, and what it cannot change is known', () => {
    const references = referencesIn('${t1.output.${t2.output.${workflow.variables.v}}}');
    expect(sorted(references.tasks)).toEqual(['t1', 't2']);
    expect(references.hasUnknownHead).toBe(false);
    expect(references.all[0]).toEqual({ head: 't1', field: 'output', name: undefined });
    expect(sorted(references.variables)).toEqual(['v']);
  });

  test.each(['${${workflow.input.t}.output}', '${t${workflow.input.n}.output}', '${$.${workflow.input.t}}'])(
    '%s has an unknown head',
    (text) => expect(referencesIn(text).hasUnknownHead).toBe(true),
  );

  test('secrets, environment and variables are told by name, or as all of them', () => {
    const one = referencesIn([
      '${secrets.A}',
      'x${workflow.secrets.B.c}',
      '${env.C}',
      '${workflow.env.D}',
      '${workflow.variables.E}',
    ]);
    expect([sorted(one.secrets), sorted(one.env), sorted(one.variables)]).toEqual([['A', 'B'], ['C', 'D'], ['E']]);
    const every = referencesIn([
      '${workflow.env}',
      '${workflow.variables[*]}',
      '${workflow.secrets.${workflow.input.s}}',
    ]);
    expect([sorted(every.secrets), sorted(every.env), sorted(every.variables)]).toEqual([['*'], ['*'], ['*']]);
    const whole = referencesIn('${workflow}');
    expect([sorted(whole.secrets), sorted(whole.env), sorted(whole.variables)]).toEqual([[], ['*'], ['*']]);
  });

  test('a constant reads nothing', () => {
    expect(referencesIn({ a: ['$${t.output}', 1] }).all).toEqual([]);
  });
});
