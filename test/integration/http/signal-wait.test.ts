import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { wait } from '../../support/builders.ts';
import { type MemoryServer, openMemoryServer } from '../../support/memory-server.ts';
import { type Answer, type Fixture, startFixture } from './support/http-fixture.ts';
import { NAMESPACE } from './support/samples.ts';

describe('a signal with waitSeconds', () => {
  let server: MemoryServer;
  let fixture: Fixture;
  let key: string;

  const started = async (): Promise<ExecutionId> => {
    const answer = await server.useCases.executions.start(NAMESPACE, {
      name: 'asked',
      input: {},
      priority: 0,
      idempotencyStrategy: 'RETURN_EXISTING',
    });
    if (!answer.ok) throw new Error(answer.error.message);
    await server.evaluateAll();
    return answer.value.executionId;
  };
  const signal = (id: ExecutionId, json: JsonObject): Promise<Answer> =>
    fixture.send('POST', `/v1/ns/${NAMESPACE}/executions/${id}/signal`, { key, json });

  beforeAll(async () => {
    server = await openMemoryServer();
    // The script is run beside the passes, so what follows a signal is not there yet when it is taken.
    const think = (ref: string) => ({
      name: 'think',
      taskReferenceName: ref,
      type: 'INLINE',
      inputParameters: { expression: '1' },
    });
    const tasks = [wait('one'), think('then'), wait('two'), think('last')];
    const definition = { name: 'asked', version: 1, tasks };
    await server.useCases.definitions.registerWorkflow(NAMESPACE, definition, 'v1', false);
    fixture = await startFixture({ overrides: { executions: server.useCases.executions } });
    key = await fixture.key(['executions:signal']);
  });
  afterAll(async () => {
    await fixture.server.stop();
    await server.close();
  });

  test('answers with the run as it is when it waits again, and when it has ended', async () => {
    const id = await started();
    server.startLoops('evaluate', 'system-tasks');
    const first = await signal(id, { taskRef: 'one', waitSeconds: 30 });
    expect(first.json).toMatchObject({ delivered: true, status: 'RUNNING' });
    // That it waits again is true already: otherwise this one would be kept for later.
    const second = await signal(id, { waitSeconds: 30 });
    expect(second.json).toMatchObject({ delivered: true, status: 'COMPLETED' });
    await server.stopLoops();
  });

  test('answers after that time at the latest', async () => {
    const answer = await signal(await started(), { taskRef: 'one', waitSeconds: 1 });
    expect(answer.json).toMatchObject({ delivered: true, status: 'RUNNING' });
  });

  test('is refused above a minute', async () => {
    const answer = await signal(await started(), { waitSeconds: 61 });
    expect([answer.status, answer.json.error, answer.json.path]).toEqual([400, 'VALIDATION_FAILED', 'waitSeconds']);
  });
});
