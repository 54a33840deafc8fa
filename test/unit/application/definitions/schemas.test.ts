import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/domain/kernel/json.ts';
import { ALPHA, accepted, BETA, givenDefinitions, task, workflow } from './given-use-cases.ts';

const DATA = { type: 'object', required: ['id'] };

const given = async () => {
  const { useCases, definitions } = givenDefinitions();
  const register = (name: string, data: JsonValue = DATA, type = 'JSON', version?: number) =>
    useCases.registerSchema(ALPHA, { name, type, data, ...(version === undefined ? {} : { version }) });
  const registerWorkflow = (document: JsonObject, door: 'v1' | 'conductor' = 'v1') =>
    useCases.registerWorkflow(ALPHA, workflow(document), door, true);
  return { useCases, definitions, register, registerWorkflow };
};

describe('a registered schema', () => {
  it('is refused when it cannot be used, with the place', async () => {
    const { register } = await given();
    expect(await register('order', { type: 'strnig' })).toMatchObject({
      error: { code: 'VALIDATION_FAILED', path: 'data' },
    });
    expect(await register('order', { $ref: 'https://example.org/other' })).toMatchObject({ error: { path: 'data' } });
    expect(await register('order', DATA, 'AVRO')).toMatchObject({ error: { code: 'VALIDATION_FAILED', path: 'type' } });
    expect(await register('no name')).toMatchObject({ error: { code: 'INVALID_NAME', path: 'name' } });
  });

  it('is read, listed and deleted in its namespace', async () => {
    const { useCases, register } = await given();
    accepted(await register('order'));
    accepted(await register('order', { type: 'string' }));
    expect(accepted(await useCases.getSchema(ALPHA, 'order')).version).toBe(2);
    expect(await useCases.getSchema(BETA, 'order')).toMatchObject({ error: { code: 'NOT_FOUND' } });
    const first = accepted(await useCases.listSchemas(ALPHA, 1));
    expect(first.items.map(({ version }) => version)).toEqual([1]);
    const second = accepted(await useCases.listSchemas(ALPHA, 1, first.nextCursor));
    expect([second.items.map(({ version }) => version), second.nextCursor]).toEqual([[2], undefined]);
    expect(await useCases.listSchemas(BETA, 1, first.nextCursor)).toMatchObject({ error: { code: 'INVALID_CURSOR' } });
    accepted(await useCases.deleteSchema(ALPHA, 'order', 2));
    expect(await useCases.deleteSchema(ALPHA, 'order', 2)).toMatchObject({ error: { code: 'NOT_FOUND' } });
  });
});

describe('a definition that names a schema', () => {
  it('carries the schema as it was, by its name or by name and version, whatever becomes of the schema', async () => {
    const { useCases, register, registerWorkflow } = await given();
    accepted(await register('order'));
    accepted(await register('order', { type: 'string' }));
    const inputSchema = { name: 'order', version: 1 };
    const { definition } = accepted(await registerWorkflow({ inputSchema, outputSchema: 'order' }));
    accepted(await useCases.deleteSchema(ALPHA, 'order', 1));
    expect(definition.inputSchema).toEqual({ name: 'order', version: 1, type: 'JSON', data: DATA });
    expect(definition.outputSchema).toEqual({ name: 'order', version: 2, type: 'JSON', data: { type: 'string' } });
  });

  it('is refused on /v1 where there is none, or one that is no JSON Schema, with the place', async () => {
    const { registerWorkflow } = await given();
    expect(await registerWorkflow({ inputSchema: 'order' })).toMatchObject({
      error: { code: 'VALIDATION_FAILED', path: 'inputSchema', message: 'there is no registered schema "order"' },
    });
    expect(await registerWorkflow({ outputSchema: { name: 'order', type: 'AVRO' } })).toMatchObject({
      error: { path: 'outputSchema' },
    });
    const tasks = [task('charge', { taskDefinition: { outputSchema: { name: 'order', version: 4 } } })];
    expect(await registerWorkflow({ tasks })).toMatchObject({
      error: { path: 'tasks[0].taskDefinition.outputSchema', message: expect.stringContaining('version 4') },
    });
  });

  it('is taken at the door of Conductor, where a name that is not known asks for nothing', async () => {
    const { registerWorkflow } = await given();
    expect(
      accepted(await registerWorkflow({ inputSchema: { name: 'order' } }, 'conductor')).definition.inputSchema,
    ).toEqual({
      name: 'order',
    });
  });

  it('finds it in task definitions as well, registered or written in a nested step', async () => {
    const { useCases, register, registerWorkflow } = await given();
    accepted(await register('order'));
    const found = { name: 'order', version: 1, type: 'JSON', data: DATA };
    const registered = accepted(await useCases.registerTask(ALPHA, { name: 'charge', outputSchema: 'order' }, 'v1'));
    expect(registered.definition).toMatchObject({ outputSchema: found, enforceSchema: true });
    expect(await useCases.registerTask(ALPHA, { name: 'charge', inputSchema: 'other' }, 'v1')).toMatchObject({
      error: { code: 'VALIDATION_FAILED', path: 'inputSchema' },
    });
    const nested = task('inner', { taskDefinition: { inputSchema: 'order' } });
    const loop = { name: 'l', taskReferenceName: 'l', type: 'DO_WHILE', items: [1], loopOver: [nested] };
    const { definition } = accepted(await registerWorkflow({ tasks: [loop] }));
    expect(definition.tasks[0]?.loopOver?.[0]?.taskDefinition?.inputSchema).toEqual(found);
  });

  it('keeps a schema that is written in place as it is', async () => {
    const { registerWorkflow } = await given();
    const inline = { type: 'object', properties: { name: { type: 'string' } } };
    const data = { name: 'own', type: 'JSON', data: inline };
    const { definition } = accepted(await registerWorkflow({ inputSchema: inline, outputSchema: data }));
    expect([definition.inputSchema, definition.outputSchema]).toEqual([inline, data]);
  });
});
