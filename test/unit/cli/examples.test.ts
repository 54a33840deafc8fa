import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { EXAMPLES } from '../../../examples/examples.ts';
import { checkDefinition } from '../../../src/domain/definition/check-definition.ts';
import { parseWorkflowDefinition } from '../../../src/domain/definition/parse-definition.ts';
import { parseTaskDefinition } from '../../../src/domain/definition/parse-task-definition.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';
import { ok } from '../../../src/domain/kernel/result.ts';

const readExample = async (folder: string, file: string): Promise<JsonValue> =>
  JSON.parse(await readFile(new URL(`../../../examples/${folder}/${file}`, import.meta.url), 'utf8')) as JsonValue;

test.for(Object.values(EXAMPLES))(
  'the definitions of $folder can be registered at /v1',
  async ({ folder, workflows }) => {
    for (const file of workflows) {
      const parsed = parseWorkflowDefinition(await readExample(folder, file), 'v1');
      if (!parsed.ok) expect.fail(JSON.stringify(parsed.error));
      expect(checkDefinition({ workflow: parsed.value, taskDefinitions: {} }, () => ok(undefined))).toEqual([]);
    }
    const tasks = (await readExample(folder, 'tasks.json')) as readonly JsonValue[];
    expect(tasks.map((task) => parseTaskDefinition(task, 'v1').ok)).toEqual(tasks.map(() => true));
  },
);
