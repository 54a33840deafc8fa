import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/domain/kernel/json.ts';
import { ALPHA, accepted, BETA, givenDefinitions, task } from './given-use-cases.ts';

const child = (name: string, fields: JsonObject = {}): JsonObject =>
  task('start', { type: 'SUB_WORKFLOW', subWorkflowParam: { name, ...fields } });
const chosen = (step: JsonObject): JsonObject =>
  task('choose', { type: 'SWITCH', expression: '${workflow.input.x}', decisionCases: { yes: [step] } });
const looped = (step: JsonObject): JsonObject => task('again', { type: 'DO_WHILE', items: [1, 2], loopOver: [step] });

const given = () => {
  const { useCases } = givenDefinitions();
  return (
    name: string,
    step: JsonObject,
    namespace = ALPHA,
    fields: JsonObject = {},
    door: 'v1' | 'conductor' = 'v1',
  ) => useCases.registerWorkflow(namespace, { name, tasks: [step], ...fields }, door, true);
};
const refusal = (path: string, way: string) => ({
  ok: false,
  error: { code: 'INVALID_GRAPH', path, message: `a run of this would never end: ${way}, with no choice in between` },
});

describe('a workflow that starts itself', () => {
  it('is refused where nothing could keep it from doing so, in a loop too', async () => {
    const register = given();
    expect(await register('a', child('a'))).toMatchObject(refusal('tasks[0].subWorkflowParam.name', 'a starts a'));
    expect(await register('a', looped(child('a')))).toMatchObject(
      refusal('tasks[0].loopOver[0].subWorkflowParam.name', 'a starts a'),
    );
  });

  it('is refused when the way leads over others', async () => {
    const register = given();
    accepted(await register('c', child('a')));
    accepted(await register('b', child('c')));
    expect(await register('a', child('b'))).toMatchObject(
      refusal('tasks[0].subWorkflowParam.name', 'a starts b starts c starts a'),
    );
  });

  it('is refused however many others the way leads over', async () => {
    const register = given();
    for (let n = 150; n > 0; n -= 1) accepted(await register(`a${n}`, child(n === 150 ? 'a' : `a${n + 1}`)));
    expect(await register('a', child('a1'))).toMatchObject({ ok: false, error: { code: 'INVALID_GRAPH' } });
  });

  it('is taken where a switch, data or another version may end it, and in another namespace', async () => {
    const register = given();
    accepted(await register('a', chosen(child('a'))));
    accepted(await register('a', child('a', { version: 1 })));
    accepted(await register('a', child('${workflow.input.next}')));
    accepted(await register('a', child('a', { version: 1 }), ALPHA, { version: 9 }));
    accepted(await register('b', child('a', { version: 9 })));
    accepted(await register('d', child('e')));
    accepted(await register('e', task('other'), BETA));
    accepted(await register('d', child('e'), BETA));
  });

  it('is taken at the door of Conductor', async () => {
    accepted(await given()('a', child('a'), ALPHA, { version: 1, schemaVersion: 2 }, 'conductor'));
  });

  it('is not looked for behind a cycle of others', async () => {
    const register = given();
    accepted(await register('x', child('y')));
    accepted(await register('y', child('z')));
    accepted(await register('a', child('x')));
  });
});
