import { existsSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { workflowDocumentOf } from '../../../src/adapters/http/wire/definition-wire.ts';
import { createSteeringSandbox } from '../../../src/adapters/sandbox/steering-sandbox.ts';
import { checkDefinition } from '../../../src/domain/definition/check-definition.ts';
import { compilePlan } from '../../../src/domain/definition/compile-plan.ts';
import { parseWorkflowDefinition } from '../../../src/domain/definition/parse-definition.ts';
import { parseTemplate } from '../../../src/domain/expression/parse-template.ts';
import type { JsonValue } from '../../../src/domain/kernel/json.ts';
import type { SteeringSandbox } from '../../../src/ports/script-sandbox.ts';

const CORPUS = new URL('../../../../shared/corpus/conductor-definitions.jsonl', import.meta.url);
const DEFINITIONS = 512;

/** Definitions that Conductor itself would refuse. It refuses none of these. */
const REFUSED: readonly string[] = [];

type Entry = Readonly<{ source: string; definition: JsonValue }>;

/** The corpus lies beside the repository, not in it; elsewhere there is nothing to read. */
describe.skipIf(!existsSync(CORPUS))('the real definitions of Conductor', () => {
  let entries: readonly Entry[] = [];
  let sandbox: SteeringSandbox;

  beforeAll(async () => {
    const lines = readFileSync(CORPUS, 'utf8').trim().split('\n');
    entries = lines.map((line) => JSON.parse(line) as Entry);
    sandbox = await createSteeringSandbox();
  });

  it('register at /api, scripts included, and compile', () => {
    const refused = entries.flatMap(({ source, definition }) => {
      const parsed = parseWorkflowDefinition(definition, 'conductor');
      if (!parsed.ok) return [{ source, problems: parsed.error }];
      const bundle = { workflow: parsed.value, taskDefinitions: {} };
      const problems = checkDefinition(bundle, (script, wrap) => sandbox.checkSyntax(script, wrap));
      return problems.length > 0 || !compilePlan(bundle, 'hash').ok ? [{ source, problems }] : [];
    });
    expect(entries).toHaveLength(DEFINITIONS);
    expect(refused.map(({ source }) => source)).toEqual(REFUSED);
  });

  it('read back as the same definitions from the document that shows them', () => {
    for (const { definition } of entries) {
      const first = parseWorkflowDefinition(definition, 'conductor');
      if (!first.ok) continue;
      expect(parseWorkflowDefinition(workflowDocumentOf(first.value), 'conductor')).toEqual(first);
    }
  });

  it('hold no string that does not parse as a template', () => {
    const texts = new Set<string>();
    const collect = (value: unknown): void => {
      if (typeof value === 'string' && value.includes('${')) texts.add(value);
      else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect);
    };
    for (const { definition } of entries) collect(definition);
    expect(texts.size).toBeGreaterThan(2_900);
    expect([...texts].filter((text) => !parseTemplate(text).ok)).toEqual([]);
  });
});
