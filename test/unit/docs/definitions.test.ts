import { describe, expect, it } from 'vitest';
import { checkDefinition } from '../../../src/domain/definition/check-definition.ts';
import { nodePlaces } from '../../../src/domain/definition/node-children.ts';
import { parseWorkflowDefinition } from '../../../src/domain/definition/parse-definition.ts';
import { parseTaskDefinition } from '../../../src/domain/definition/parse-task-definition.ts';
import { TASK_TYPES } from '../../../src/domain/definition/task-types.ts';
import type { WorkflowDefinition } from '../../../src/domain/definition/workflow-definition.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import { ok } from '../../../src/domain/kernel/result.ts';
import { codeIn, fences, readPage, section, tableRows } from './pages.ts';

const PAGE = readPage('docs/definitions.md');

const documents = (page: string, info: string): readonly JsonObject[] =>
  fences(page, info).map((text) => JSON.parse(text) as JsonObject);

const workflows = [...documents(PAGE, 'json workflow'), ...documents(readPage('README.md'), 'json workflow')];

const parsed = (document: JsonValue): WorkflowDefinition => {
  const result = parseWorkflowDefinition(document, 'v1');
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

describe('the examples', () => {
  it.each(workflows.map((document) => [String(document.name), document] as const))('%s registers', (_, document) => {
    const bundle = { workflow: parsed(document), taskDefinitions: {} };
    expect(checkDefinition(bundle, () => ok(undefined))).toEqual([]);
  });

  it('hold a task definition that registers', () => {
    const definitions = documents(PAGE, 'json task');
    expect(definitions.length).toBeGreaterThan(0);
    for (const document of definitions) expect(parseTaskDefinition(document, 'v1').ok).toBe(true);
  });

  it('show every task type, and each has a heading', () => {
    const shown = workflows.flatMap((document) => nodePlaces(parsed(document).tasks).map(({ node }) => node.type));
    expect(new Set(shown)).toEqual(new Set(TASK_TYPES));
    const headings =
      section(PAGE, '## Task types')
        .match(/^### .*$/gm)
        ?.join(' ') ?? '';
    expect(TASK_TYPES.filter((type) => !new RegExp(`\\b${type}\\b`).test(headings))).toEqual([]);
  });
});

/** Names of fields in the first column of the tables of a section, and in its list of fields without effect. */
const fieldsOf = (text: string): readonly string[] => [
  ...tableRows(text).flatMap(([first = '']) => codeIn(first)),
  ...codeIn(/^Stored and shown[\s\S]*?\n\n/m.exec(text)?.[0] ?? ''),
];

const isUnknown = (problems: readonly Readonly<{ code: string; path: string }>[], name: string): boolean =>
  problems.some(({ code, path }) => code === 'UNKNOWN_FIELD' && path.endsWith(name));

const problemsOf = (result: Readonly<{ ok: boolean; error?: unknown }>) =>
  result.ok ? [] : (result.error as readonly Readonly<{ code: string; path: string }>[]);

describe('every field on the page is known to the parser', () => {
  const workflowFields = fieldsOf(section(PAGE, '## Workflow definition'));
  const stepFields = fieldsOf(section(PAGE, '## Fields of every step'));
  const taskSection = section(PAGE, '## Task definition');
  const deadlines = tableRows(section(PAGE, '### Deadlines')).flatMap(([, second = '']) => codeIn(second));

  it.each(workflowFields)('%s of a workflow', (name) => {
    const document = { name: 'w', tasks: [], [name]: true };
    expect(isUnknown(problemsOf(parseWorkflowDefinition(document, 'v1')), name)).toBe(false);
  });

  it.each(stepFields)('%s of a step', (name) => {
    const document = { name: 'w', tasks: [{ name: 'a', taskReferenceName: 'a', [name]: true }] };
    expect(isUnknown(problemsOf(parseWorkflowDefinition(document, 'v1')), name)).toBe(false);
  });

  it.each([...fieldsOf(taskSection), ...deadlines])('%s of a task definition', (name) => {
    expect(isUnknown(problemsOf(parseTaskDefinition({ name: 't', [name]: true }, 'v1')), name)).toBe(false);
  });

  it('and one that is not would be found', () => {
    expect(isUnknown(problemsOf(parseTaskDefinition({ name: 't', nonsense: true }, 'v1')), 'nonsense')).toBe(true);
  });
});
