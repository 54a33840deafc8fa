import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkDefinition } from '../../../src/domain/definition/check-definition.ts';
import { compilePlan } from '../../../src/domain/definition/compile-plan.ts';
import { parseWorkflowDefinition } from '../../../src/domain/definition/parse-definition.ts';
import { parseTaskDefinition } from '../../../src/domain/definition/parse-task-definition.ts';
import { TASK_TYPES } from '../../../src/domain/definition/task-types.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';
import { ok } from '../../../src/domain/kernel/result.ts';

const door = fc.constantFrom('v1' as const, 'conductor' as const);
const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;
const text = fc.oneof(
  fc.constantFrom('a', 'b', 'c', '${a.output.x}', '${', '$.x < 1', 'true', 'TERMINATED', 'a__1', ''),
  fc.string({ maxLength: 12 }),
);
const junk = <T>(value: fc.Arbitrary<T>) => fc.oneof({ weight: 12, arbitrary: value }, { weight: 1, arbitrary: json });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(junk(value), { nil: undefined, freq: 2 });

const plainFields = fc.record(
  {
    name: junk(text),
    taskReferenceName: junk(text),
    type: junk(fc.constantFrom(...TASK_TYPES, 'GRPC', 'MINE')),
    inputParameters: optional(fc.dictionary(text, json, { maxKeys: 3 })),
    joinOn: optional(fc.array(text, { maxLength: 3 })),
    expression: optional(text),
    evaluatorType: optional(fc.constantFrom('value-param', 'javascript', 'jsonpath', 'python')),
    loopCondition: optional(text),
    items: optional(json),
    caseValueParam: optional(text),
    dynamicTaskNameParam: optional(text),
    dynamicForkTasksParam: optional(text),
  },
  { requiredKeys: ['name', 'taskReferenceName'] },
);

const childFields = (tasks: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.oneof(
    fc.record({ loopOver: junk(tasks) }),
    fc.record({ decisionCases: junk(fc.dictionary(text, tasks, { maxKeys: 2 })), defaultCase: optional(tasks) }),
    fc.record({ forkTasks: junk(fc.array(tasks, { maxLength: 2 })) }),
  );

/** Documents that look like definitions often enough to come past the first check, and hold rubbish at any place. */
const tasksAt = (levels: number): fc.Arbitrary<unknown> => {
  const children = levels === 0 ? fc.constant({}) : childFields(tasksAt(levels - 1));
  const task = fc.tuple(plainFields, children).map(([fields, nested]) => ({ ...fields, ...nested }));
  return fc.array(junk(task), { maxLength: 3 });
};

const document = fc.record({
  name: fc.oneof(fc.constant('checkout'), junk(text)),
  tasks: junk(tasksAt(2)),
  outputParameters: optional(fc.dictionary(text, json)),
});
const plain = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value)) as JsonValue;

describe('reading a definition', () => {
  it('never throws, whatever JSON it is given', () => {
    fc.assert(
      fc.property(json, door, (value, at) => {
        expect(typeof parseWorkflowDefinition(value, at).ok).toBe('boolean');
        expect(typeof parseTaskDefinition(value, at).ok).toBe('boolean');
      }),
    );
  });

  it('gives a definition that can be judged and compiled without a throw, with a path for each problem', () => {
    let compiled = 0;
    fc.assert(
      fc.property(document, door, (value, at) => {
        const parsed = parseWorkflowDefinition(plain(value), at);
        if (!parsed.ok) {
          expect(parsed.error.length).toBeGreaterThan(0);
          return;
        }
        const bundle = { workflow: parsed.value, taskDefinitions: {} };
        const problems = checkDefinition(bundle, () => ok(undefined));
        const plan = compilePlan(bundle, 'hash');
        if (plan.ok) compiled += 1;
        else expect(problems).toEqual(expect.arrayContaining([...plan.error]));
        for (const problem of problems) expect(problem.path).toMatch(/^(tasks|outputParameters)/);
      }),
      { numRuns: 500 },
    );
    expect(compiled).toBeGreaterThan(0);
  });

  it('does not overflow on nesting far beyond the limit', () => {
    let step: JsonValue = { name: 'x', taskReferenceName: 'x' };
    for (let level = 0; level < 5_000; level += 1) {
      step = { name: 'l', taskReferenceName: `l${level}`, type: 'DO_WHILE', loopCondition: '$.x', loopOver: [step] };
    }
    const parsed = parseWorkflowDefinition({ name: 'deep', tasks: [step] }, 'v1');
    expect(parsed).toMatchObject({ ok: false, error: [{ code: 'LIMIT_EXCEEDED' }] });
  });
});
