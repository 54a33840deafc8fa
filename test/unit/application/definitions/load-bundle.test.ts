import { describe, expect, it } from 'vitest';
import { sha256 } from '../../../../src/adapters/hash/sha256.ts';
import { createBundleResolver } from '../../../../src/application/definitions/load-bundle.ts';
import { PlanCache } from '../../../../src/application/definitions/plan-cache.ts';
import { InvariantError } from '../../../../src/domain/kernel/invariant.ts';
import { ALPHA, accepted, givenDefinitions, task, workflow } from './given-use-cases.ts';

const given = () => {
  const world = givenDefinitions();
  return { ...world, resolve: createBundleResolver({ definitions: world.definitions, hash: sha256 }) };
};

describe('a bundle', () => {
  it('freezes the definition with the task definitions it names, at any depth', async () => {
    const { useCases, resolve } = given();
    const loop = { loopCondition: '$.deep.x < 1', loopOver: [task('deep')] };
    const inline = task('inline', { taskDefinition: { retryCount: 1 } });
    const tasks = [task('charge'), task('loop', { type: 'DO_WHILE', ...loop }), inline];
    for (const name of ['charge', 'deep', 'inline', 'loop', 'stranger'])
      await useCases.registerTask(ALPHA, { name }, 'v1');
    await useCases.registerWorkflow(ALPHA, workflow({ tasks }), 'v1', false);
    const resolved = await resolve(ALPHA, 'checkout');
    expect(Object.keys(resolved?.bundle.taskDefinitions ?? {}).sort()).toEqual(['charge', 'deep']);
    expect(resolved?.bundle.workflow.version).toBe(1);
  });

  it('keeps its address while nothing changes, and has another when a task definition does', async () => {
    const { useCases, resolve, calls, definitions } = given();
    await useCases.registerWorkflow(ALPHA, workflow(), 'v1', false);
    const first = await resolve(ALPHA, 'checkout');
    expect((await resolve(ALPHA, 'checkout', 1))?.hash).toBe(first?.hash);
    expect(calls.putBundle).toBe(1);
    await useCases.registerTask(ALPHA, { name: 'charge', retryCount: 9 }, 'v1');
    const second = await resolve(ALPHA, 'checkout');
    expect(second?.hash).not.toBe(first?.hash);
    const stored = await definitions.findBundles([first?.hash ?? '', second?.hash ?? '']);
    expect(stored.get(first?.hash ?? '')?.taskDefinitions).toEqual({});
    expect(stored.get(second?.hash ?? '')?.taskDefinitions.charge?.policy.retryCount).toBe(9);
  });

  it('is none for a name or version that does not exist', async () => {
    const { useCases, resolve } = given();
    expect(await resolve(ALPHA, 'checkout')).toBeUndefined();
    await useCases.registerWorkflow(ALPHA, workflow(), 'v1', false);
    expect(await resolve(ALPHA, 'checkout', 2)).toBeUndefined();
  });
});

describe('the plan cache', () => {
  const resolved = async () => {
    const world = given();
    const hashes: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      accepted(await world.useCases.registerWorkflow(ALPHA, workflow({ name }), 'v1', false));
      hashes.push((await world.resolve(ALPHA, name))?.hash ?? '');
    }
    const [a = '', b = '', c = ''] = hashes;
    return { ...world, a, b, c };
  };

  it('compiles a bundle once', async () => {
    const { definitions, calls, a } = await resolved();
    const plans = new PlanCache();
    const plan = await plans.planOf(a, definitions);
    expect(plan).toMatchObject({ hash: a, definition: { name: 'a' } });
    expect(await plans.planOf(a, definitions)).toBe(plan);
    expect(calls.findBundles).toBe(1);
  });

  it('reads what is missing of several at once', async () => {
    const { definitions, calls, a, b, c } = await resolved();
    const plans = new PlanCache();
    await plans.planOf(a, definitions);
    const found = await plans.plansOf([a, b, c, b], definitions);
    expect([...found.values()].map((plan) => plan.definition.name).sort()).toEqual(['a', 'b', 'c']);
    expect(calls.findBundles).toBe(2);
  });

  it('forgets the plan that was not asked for the longest', async () => {
    const { definitions, calls, a, b, c } = await resolved();
    const plans = new PlanCache(2);
    for (const hash of [a, b, a, c]) await plans.planOf(hash, definitions);
    expect(calls.findBundles).toBe(3);
    await plans.planOf(a, definitions);
    expect(calls.findBundles).toBe(3);
    await plans.planOf(b, definitions);
    expect(calls.findBundles).toBe(4);
  });

  it('loads a stored definition that registration would refuse today', async () => {
    const { definitions, resolve, useCases } = given();
    const { definition } = accepted(await useCases.registerWorkflow(ALPHA, workflow(), 'v1', false));
    const [first] = definition.tasks;
    if (first === undefined) throw new Error('no task');
    const older = { ...definition, name: 'older', tasks: [{ ...first, inputParameters: { x: '${nobody.output.x}' } }] };
    await definitions.putWorkflow(ALPHA, older, 'older-hash', false);
    const bundle = await resolve(ALPHA, 'older');
    expect((await new PlanCache().planOf(bundle?.hash ?? '', definitions)).nodes.has('charge')).toBe(true);
  });

  it('says so when a bundle is missing, or cannot be compiled', async () => {
    const { definitions, resolve, useCases } = given();
    await expect(new PlanCache().planOf('nowhere', definitions)).rejects.toThrow(InvariantError);
    const { definition } = accepted(await useCases.registerWorkflow(ALPHA, workflow(), 'v1', false));
    const [first] = definition.tasks;
    if (first === undefined) throw new Error('no task');
    await definitions.putWorkflow(ALPHA, { ...definition, name: 'twice', tasks: [first, first] }, 'twice-hash', false);
    const bundle = await resolve(ALPHA, 'twice');
    await expect(new PlanCache().planOf(bundle?.hash ?? '', definitions)).rejects.toThrow(/DUPLICATE_REFERENCE/);
  });
});
