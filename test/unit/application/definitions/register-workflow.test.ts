import { describe, expect, it } from 'vitest';
import { ALPHA, accepted, BETA, givenDefinitions, task, workflow } from './given-use-cases.ts';

describe('registering a workflow on /v1', () => {
  it('gives a document without a version the next one', async () => {
    const { useCases } = givenDefinitions();
    const register = (description: string) => useCases.registerWorkflow(ALPHA, workflow({ description }), 'v1', false);
    expect(accepted(await register('one'))).toMatchObject({ outcome: 'created', definition: { version: 1 } });
    expect(accepted(await register('two'))).toMatchObject({ outcome: 'created', definition: { version: 2 } });
    const versions = accepted(await useCases.listWorkflowVersions(ALPHA, 'checkout'));
    expect(versions.map(({ version, definition }) => [version, definition.version])).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it('does not pile up versions of the same content', async () => {
    const { useCases } = givenDefinitions();
    await useCases.registerWorkflow(ALPHA, workflow({ metadata: { a: 1, b: 2 } }), 'v1', false);
    const again = await useCases.registerWorkflow(ALPHA, workflow({ metadata: { b: 2, a: 1 } }), 'v1', false);
    expect(accepted(again)).toMatchObject({ outcome: 'unchanged', definition: { version: 1 } });
  });

  it('takes the same content under a version again, and refuses other content whatever the caller asks', async () => {
    const { useCases } = givenDefinitions();
    const document = workflow({ version: 4 });
    expect(accepted(await useCases.registerWorkflow(ALPHA, document, 'v1', false)).outcome).toBe('created');
    expect(accepted(await useCases.registerWorkflow(ALPHA, document, 'v1', false)).outcome).toBe('unchanged');
    const other = workflow({ version: 4, description: 'other' });
    for (const overwrite of [false, true]) {
      expect(await useCases.registerWorkflow(ALPHA, other, 'v1', overwrite)).toMatchObject({
        ok: false,
        error: { code: 'ALREADY_EXISTS', path: 'version' },
      });
    }
    expect(accepted(await useCases.getWorkflow(ALPHA, 'checkout')).definition).not.toHaveProperty('description');
  });

  it('allocates no version twice when many register at once', async () => {
    const { useCases } = givenDefinitions();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        useCases.registerWorkflow(ALPHA, workflow({ description: `d${index}` }), 'v1', false),
      ),
    );
    const versions = answers.map((answer) => accepted(answer).definition.version).sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it('answers with the first problem, and all of them in the details', async () => {
    const { useCases } = givenDefinitions();
    const document = workflow({ tasks: [task('a', { x: 1 }), task('a', { y: 1 })] });
    expect(await useCases.registerWorkflow(ALPHA, document, 'v1', false)).toMatchObject({
      ok: false,
      error: {
        code: 'UNKNOWN_FIELD',
        path: 'tasks[0].x',
        details: { problems: [{ path: 'tasks[0].x' }, { path: 'tasks[1].y' }] },
      },
    });
    expect(await useCases.getWorkflow(ALPHA, 'checkout')).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
  });

  it('asks the sandbox about scripts', async () => {
    const { useCases } = givenDefinitions();
    const tasks = [task('i', { type: 'INLINE', inputParameters: { expression: 'broken' } })];
    expect(await useCases.validateWorkflow(ALPHA, workflow({ tasks }), 'v1')).toEqual([
      { code: 'EXPRESSION_INVALID', message: 'it is broken', path: 'tasks[0].inputParameters.expression' },
    ]);
  });
});

describe('registering a workflow on /api', () => {
  it('means version 1 unless one is given, and refuses what is there, the same content too', async () => {
    const { useCases } = givenDefinitions();
    const register = (overwrite: boolean, description = 'a') =>
      useCases.registerWorkflow(ALPHA, workflow({ description }), 'conductor', overwrite);
    expect(accepted(await register(false))).toMatchObject({ outcome: 'created', definition: { version: 1 } });
    expect(await register(false)).toMatchObject({
      ok: false,
      error: { code: 'ALREADY_EXISTS', message: 'Workflow with checkout.1 already exists!' },
    });
    expect(accepted(await register(true)).outcome).toBe('unchanged');
    expect(accepted(await register(true, 'b')).outcome).toBe('replaced');
    expect(accepted(await useCases.getWorkflow(ALPHA, 'checkout')).definition.description).toBe('b');
  });
});

describe('validating a workflow', () => {
  it('stores nothing and finds nothing wrong with a valid one', async () => {
    const { useCases } = givenDefinitions();
    expect(await useCases.validateWorkflow(ALPHA, workflow(), 'v1')).toEqual([]);
    expect(await useCases.getWorkflow(ALPHA, 'checkout')).toMatchObject({ ok: false });
  });
});

describe('reading definitions', () => {
  it('finds nothing of another namespace', async () => {
    const { useCases } = givenDefinitions();
    await useCases.registerWorkflow(ALPHA, workflow(), 'v1', false);
    await useCases.registerTask(ALPHA, { name: 'charge' }, 'v1');
    const answers = [
      await useCases.getWorkflow(BETA, 'checkout', 1),
      await useCases.listWorkflowVersions(BETA, 'checkout'),
      await useCases.deleteWorkflow(BETA, 'checkout', 1),
      await useCases.getTask(BETA, 'charge'),
      await useCases.deleteTask(BETA, 'charge'),
    ];
    for (const answer of answers) expect(answer).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
    expect(await useCases.getWorkflow(ALPHA, 'checkout', 1)).toMatchObject({ ok: true });
  });

  it('pages through all of them in order, each once', async () => {
    const { useCases } = givenDefinitions();
    for (const [name, version] of [
      ['b', 1],
      ['a', 2],
      ['a', 1],
      ['c', 1],
      ['b', 3],
    ] as const) {
      await useCases.registerWorkflow(ALPHA, workflow({ name, version }), 'v1', false);
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = accepted(await useCases.listWorkflows(ALPHA, 2, cursor));
      seen.push(...page.items.map(({ name, version }) => `${name}.${version}`));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(['a.1', 'a.2', 'b.1', 'b.3', 'c.1']);
  });

  it('refuses cursors of another list, another namespace, or no cursor at all', async () => {
    const { useCases } = givenDefinitions();
    for (const name of ['a', 'b']) await useCases.registerTask(ALPHA, { name }, 'v1');
    const { nextCursor = '' } = accepted(await useCases.listTasks(ALPHA, 1));
    expect(accepted(await useCases.listTasks(ALPHA, 1, nextCursor)).items.map((row) => row.definition.name)).toEqual([
      'b',
    ]);
    const refused = [
      await useCases.listTasks(BETA, 1, nextCursor),
      await useCases.listWorkflows(ALPHA, 1, nextCursor),
      await useCases.listTasks(ALPHA, 1, `${nextCursor}A`),
      await useCases.listTasks(ALPHA, 1, nextCursor.slice(1)),
      await useCases.listTasks(ALPHA, 1, ''),
      await useCases.listTasks(ALPHA, 1, '%%%'),
      await useCases.listTasks(ALPHA, 1, 'x'.repeat(10_000)),
      await useCases.listTasks(ALPHA, 1, Buffer.from('[1,"a"]').toString('base64url')),
    ];
    for (const answer of refused) expect(answer).toMatchObject({ ok: false, error: { code: 'INVALID_CURSOR' } });
  });
});

describe('task definitions', () => {
  it('are created, replaced, found and deleted', async () => {
    const { useCases } = givenDefinitions();
    const register = (retryCount: number) => useCases.registerTask(ALPHA, { name: 'charge', retryCount }, 'v1');
    expect(accepted(await register(1)).outcome).toBe('created');
    expect(accepted(await register(2)).outcome).toBe('replaced');
    expect(accepted(await useCases.getTask(ALPHA, 'charge')).definition.policy.retryCount).toBe(2);
    expect(await useCases.deleteTask(ALPHA, 'charge')).toMatchObject({ ok: true });
    expect(await useCases.getTask(ALPHA, 'charge')).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
  });

  it('are refused with a code and a path', async () => {
    const { useCases } = givenDefinitions();
    expect(await useCases.registerTask(ALPHA, { name: 'a', retryCount: 101 }, 'v1')).toMatchObject({
      ok: false,
      error: { code: 'VALIDATION_FAILED', path: 'retryCount' },
    });
  });
});
