import { describe, expect, it } from 'vitest';
import type { DefinitionBundle } from '../../src/ports/definition-store.ts';
import { taskDefinition, workflowDefinition } from './definitions.ts';
import { ALPHA, BETA } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

describe.each(harnesses)('workflow definitions over $name', (harness) => {
  const open = useHarness(harness);
  const put = (name: string, version: number, hash = `${name}-${version}`, overwrite = false) =>
    open().definitions.putWorkflow(ALPHA, workflowDefinition(name, version), hash, overwrite);

  it('are found as they were stored', async () => {
    const definition = workflowDefinition('checkout', 2, { description: 'naïve 🧪', metadata: { team: ['a', null] } });
    const before = await open().engine.now();
    expect(await open().definitions.putWorkflow(ALPHA, definition, 'h-1', false)).toBe('created');
    const row = await open().definitions.findWorkflow(ALPHA, 'checkout', 2);
    expect(row).toMatchObject({ name: 'checkout', version: 2, hash: 'h-1', definition });
    expect(row?.createdAt).toBeGreaterThanOrEqual(before);
    expect(row?.updatedAt).toBe(row?.createdAt);
  });

  it('stay as they are when the same content comes again', async () => {
    await put('checkout', 1, 'h-1');
    expect(await put('checkout', 1, 'h-1', false)).toBe('unchanged');
    expect(await put('checkout', 1, 'h-1', true)).toBe('unchanged');
  });

  it('refuse other content under a version that exists', async () => {
    await put('checkout', 1, 'h-1');
    expect(await put('checkout', 1, 'h-2')).toBe('conflict');
    expect((await open().definitions.findWorkflow(ALPHA, 'checkout', 1))?.hash).toBe('h-1');
  });

  it('are replaced when asked to', async () => {
    await put('checkout', 1, 'h-1');
    const created = (await open().definitions.findWorkflow(ALPHA, 'checkout', 1))?.createdAt;
    const changed = workflowDefinition('checkout', 1, { description: 'changed' });
    await open().advance(1_000);
    expect(await open().definitions.putWorkflow(ALPHA, changed, 'h-2', true)).toBe('replaced');
    const row = await open().definitions.findWorkflow(ALPHA, 'checkout', 1);
    expect(row).toMatchObject({ hash: 'h-2', definition: changed, createdAt: created });
  });

  it('answer the highest version when none is named, whatever came last', async () => {
    for (const version of [2, 10, 9]) await put('checkout', version);
    expect((await open().definitions.findWorkflow(ALPHA, 'checkout'))?.version).toBe(10);
    expect(await open().definitions.findWorkflow(ALPHA, 'checkout', 3)).toBeUndefined();
    expect(await open().definitions.findWorkflow(ALPHA, 'unknown')).toBeUndefined();
  });

  it('get the next free version, one each, however many ask at once', async () => {
    await put('checkout', 4);
    const store = () =>
      open().definitions.putNextWorkflowVersion(ALPHA, 'checkout', (version) => ({
        definition: workflowDefinition('checkout', version),
        hash: `h-${version}`,
      }));
    const versions = await Promise.all([store(), store(), store()]);
    expect(versions.toSorted()).toEqual([5, 6, 7]);
    expect((await open().definitions.findWorkflow(ALPHA, 'checkout', 6))?.hash).toBe('h-6');
  });

  it('begin with version 1', async () => {
    const version = await open().definitions.putNextWorkflowVersion(ALPHA, 'fresh', (next) => ({
      definition: workflowDefinition('fresh', next),
      hash: 'h',
    }));
    expect(version).toBe(1);
  });

  it('are listed by name and version, page by page', async () => {
    for (const [name, version] of [
      ['b', 1],
      ['a', 2],
      ['a', 10],
      ['a', 1],
    ] as const)
      await put(name, version);
    const listed: string[] = [];
    let after: { name: string; version: number } | undefined;
    for (let page = 0; page < 3; page += 1) {
      const rows = await open().definitions.listWorkflows(ALPHA, { limit: 2, ...(after && { after }) });
      listed.push(...rows.map((row) => `${row.name}.${row.version}`));
      after = rows.at(-1);
    }
    expect(listed).toEqual(['a.1', 'a.2', 'a.10', 'b.1']);
  });

  it('list the versions of one name', async () => {
    for (const version of [2, 1, 10]) await put('checkout', version);
    await put('other', 1);
    const versions = await open().definitions.listWorkflowVersions(ALPHA, 'checkout');
    expect(versions.map((row) => row.version).toSorted((a, b) => a - b)).toEqual([1, 2, 10]);
    expect(await open().definitions.listWorkflowVersions(ALPHA, 'unknown')).toEqual([]);
  });

  it('are deleted by version', async () => {
    await put('checkout', 1);
    await put('checkout', 2);
    expect(await open().definitions.deleteWorkflow(ALPHA, 'checkout', 2)).toBe(true);
    expect(await open().definitions.deleteWorkflow(ALPHA, 'checkout', 2)).toBe(false);
    expect((await open().definitions.findWorkflow(ALPHA, 'checkout'))?.version).toBe(1);
  });

  it('belong to their namespace', async () => {
    await put('checkout', 1, 'h-alpha');
    const other = workflowDefinition('checkout', 1);
    expect(await open().definitions.findWorkflow(BETA, 'checkout')).toBeUndefined();
    expect(await open().definitions.listWorkflows(BETA, { limit: 10 })).toEqual([]);
    expect(await open().definitions.listWorkflowVersions(BETA, 'checkout')).toEqual([]);
    expect(await open().definitions.deleteWorkflow(BETA, 'checkout', 1)).toBe(false);
    expect(await open().definitions.putWorkflow(BETA, other, 'h-beta', false)).toBe('created');
    expect((await open().definitions.findWorkflow(ALPHA, 'checkout'))?.hash).toBe('h-alpha');
  });
});

describe.each(harnesses)('task definitions over $name', (harness) => {
  const open = useHarness(harness);

  it('are found by name, those that exist', async () => {
    const definition = taskDefinition('charge', { inputTemplate: { currency: 'EUR' }, concurrentExecLimit: 5 });
    expect(await open().definitions.putTask(ALPHA, definition)).toBe('created');
    const found = await open().definitions.findTasks(ALPHA, ['charge', 'unknown']);
    expect([...found.keys()]).toEqual(['charge']);
    expect(found.get('charge')?.definition).toEqual(definition);
  });

  it('are unchanged or replaced, never in conflict', async () => {
    await open().definitions.putTask(ALPHA, taskDefinition('charge'));
    expect(await open().definitions.putTask(ALPHA, taskDefinition('charge'))).toBe('unchanged');
    const changed = taskDefinition('charge', { concurrentExecLimit: 2 });
    expect(await open().definitions.putTask(ALPHA, changed)).toBe('replaced');
    expect((await open().definitions.findTasks(ALPHA, ['charge'])).get('charge')?.definition).toEqual(changed);
  });

  it('are listed by name, page by page', async () => {
    for (const name of ['c', 'a', 'b']) await open().definitions.putTask(ALPHA, taskDefinition(name));
    const first = await open().definitions.listTasks(ALPHA, { limit: 2 });
    expect(first.map((row) => row.definition.name)).toEqual(['a', 'b']);
    const rest = await open().definitions.listTasks(ALPHA, { limit: 2, after: 'b' });
    expect(rest.map((row) => row.definition.name)).toEqual(['c']);
  });

  it('are deleted by name', async () => {
    await open().definitions.putTask(ALPHA, taskDefinition('charge'));
    expect(await open().definitions.deleteTask(ALPHA, 'charge')).toBe(true);
    expect(await open().definitions.deleteTask(ALPHA, 'charge')).toBe(false);
    expect((await open().definitions.findTasks(ALPHA, ['charge'])).size).toBe(0);
  });

  it('belong to their namespace', async () => {
    await open().definitions.putTask(ALPHA, taskDefinition('charge'));
    expect((await open().definitions.findTasks(BETA, ['charge'])).size).toBe(0);
    expect(await open().definitions.listTasks(BETA, { limit: 10 })).toEqual([]);
    expect(await open().definitions.deleteTask(BETA, 'charge')).toBe(false);
    expect((await open().definitions.findTasks(ALPHA, ['charge'])).size).toBe(1);
  });
});

describe.each(harnesses)('pinned bundles over $name', (harness) => {
  const open = useHarness(harness);
  const bundle = (description: string): DefinitionBundle => ({
    workflow: workflowDefinition('checkout', 1, { description }),
    taskDefinitions: { charge: taskDefinition('charge') },
  });

  it('are found by hash, those that exist', async () => {
    await open().definitions.putBundle('h-1', bundle('one'));
    await open().definitions.putBundle('h-2', bundle('two'));
    const found = await open().definitions.findBundles(['h-2', 'h-1', 'h-unknown']);
    expect(found.get('h-1')).toEqual(bundle('one'));
    expect(found.get('h-2')).toEqual(bundle('two'));
    expect(found.size).toBe(2);
  });

  it('never change once stored', async () => {
    await open().definitions.putBundle('h-1', bundle('first'));
    await open().definitions.putBundle('h-1', bundle('second'));
    expect((await open().definitions.findBundles(['h-1'])).get('h-1')).toEqual(bundle('first'));
  });

  it('are read by a transaction as by anybody, and task definitions too', async () => {
    await open().definitions.putBundle('h-1', bundle('one'));
    await open().definitions.putTask(ALPHA, taskDefinition('charge'));
    const read = await open().engine.transaction(async (tx) => ({
      bundles: await tx.findBundles(['h-1', 'h-unknown']),
      tasks: await tx.findTasks(ALPHA, ['charge', 'unknown']),
      foreign: await tx.findTasks(BETA, ['charge']),
    }));
    expect([...read.bundles]).toEqual([['h-1', bundle('one')]]);
    expect([...read.tasks.values()].map((row) => row.definition)).toEqual([taskDefinition('charge')]);
    expect(read.foreign.size).toBe(0);
  });
});
