import { describe, expect, it } from 'vitest';
import { RelayOutbox } from '../../../src/application/relay-outbox.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import type { EngineTx } from '../../../src/ports/engine-store.ts';
import { NAMESPACE, type TestServer, useCluster } from '../../support/engine.ts';
import { createGate, type Life, mortal, SimulatedCrash, withTx } from '../../support/faults.ts';
import { violations } from '../../support/invariants.ts';
import { endsOf, registerWorkflow, startRun, startRuns, statusOf, whenEnded } from '../../support/runs.ts';
import { countOf } from './given.ts';

const sub = (ref: string, name: string, fields: JsonObject = {}): JsonObject => ({
  name: ref,
  taskReferenceName: ref,
  type: 'SUB_WORKFLOW',
  subWorkflowParam: { name },
  ...fields,
});
const waits = (ref: string): JsonObject => ({ name: ref, taskReferenceName: ref, type: 'WAIT' });
const noop = (ref: string): JsonObject => ({ name: ref, taskReferenceName: ref, type: 'NOOP' });

/** What one delivery of a start does in its transaction, one after the other. */
const STEPS = [
  'findWorkflow',
  'holdAttempt',
  'lookUpRun',
  'createExecutions',
  'appendEvents',
  'markDelivered',
] as const;

const life: Life = { isDead: false };
const gate = createGate();
let heldAfter: keyof EngineTx | undefined;

/** Holds the transaction of whoever has just called the method that the test names. */
const holding = (tx: EngineTx): Partial<EngineTx> => {
  const name = heldAfter;
  if (name === undefined) return {};
  const method = tx[name] as (...args: unknown[]) => Promise<unknown>;
  const held = async (...args: unknown[]) => {
    const result = await method(...args);
    await gate.pass();
    return result;
  };
  return { [name]: held };
};

describe('children on PostgreSQL', () => {
  const { at, cluster } = useCluster(
    {},
    { faults: (engine) => mortal(engine, life) },
    { faults: (engine) => withTx(engine, holding) },
  );

  const relayOf = (server: TestServer) => new RelayOutbox(server.engine, server.handlers, () => undefined);
  const becomesDue = () => cluster().observer.query('update outbox_events set available_at = clock_timestamp()');

  /** Passes and messages until there are none. */
  const settle = async (server: TestServer): Promise<void> => {
    for (let found = 1; found > 0; ) found = (await server.evaluateAll()) + (await relayOf(server).runOnce());
  };

  const runsOf = async (name: string) => at(0).index.search(NAMESPACE, { name }, { limit: 1_000 });
  const orphans = () =>
    countOf(
      cluster().observer,
      `select count(*) from workflow_executions c join workflow_executions p on p.workflow_id = c.parent_id
       where c.ended_at is null and p.ended_at is not null`,
    );
  const expectSound = async () => {
    expect(await orphans()).toBe(0);
    expect(await countOf(cluster().observer, 'select count(*) from outbox_events')).toBe(0);
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  };

  it('that end before anybody looks at them again are all reported: each of 60 runs of 3 completes', async () => {
    await registerWorkflow(at(0), { name: 'instant', version: 1, tasks: [noop('n')] });
    await registerWorkflow(at(0), {
      name: 'of_instants',
      version: 1,
      tasks: ['a', 'b', 'c'].map((ref) => sub(ref, 'instant')),
    });
    for (const server of [at(0), at(1)]) server.startLoops('evaluate', 'relay-outbox');
    const ids = await startRuns(at(0), 'of_instants', 60);
    expect(await endsOf(at(0), ids)).toEqual({ COMPLETED: 60 });
    await Promise.all([at(0), at(1)].map((server) => server.stopLoops()));
    expect(await runsOf('instant')).toHaveLength(180);
    await expectSound();
  });

  it.each(STEPS)('whose parent is terminated while the start stands after %s leave no run behind', async (step) => {
    const name = `raced_${step.toLowerCase()}`;
    await registerWorkflow(at(0), { name: `${name}_child`, version: 1, tasks: [waits('w')] });
    await registerWorkflow(at(0), { name, version: 1, tasks: [sub('child', `${name}_child`)] });
    const id = await startRun(at(0), name);
    heldAfter = step;
    const reached = gate.close();
    const relaying = relayOf(at(2)).runOnce();
    await reached;
    const terminating = at(0).useCases.executions.terminate(NAMESPACE, id, 'operator');
    // Where the start holds the attempt the end must wait for it; elsewhere it need not, and is given the time to be first.
    if (step === 'findWorkflow') await terminating;
    heldAfter = undefined;
    gate.open();
    await Promise.all([relaying, terminating]);
    await settle(at(0));
    expect(await statusOf(at(0), id)).toBe('TERMINATED');
    const children = await runsOf(`${name}_child`);
    expect(children.map(({ status }) => status)).toEqual(step === 'findWorkflow' ? [] : ['TERMINATED']);
    await expectSound();
  });

  it.each(STEPS)('are started once when the relay dies after %s', async (step) => {
    const name = `killed_${step.toLowerCase()}`;
    await registerWorkflow(at(0), { name: `${name}_child`, version: 1, tasks: [noop('n')] });
    await registerWorkflow(at(0), { name, version: 1, tasks: [sub('child', `${name}_child`)] });
    const id = await startRun(at(0), name);
    life.diesAfter = step;
    await expect(relayOf(at(1)).runOnce()).rejects.toThrow(SimulatedCrash);
    delete life.diesAfter;
    life.isDead = false;
    expect(await runsOf(`${name}_child`)).toEqual([]);
    await becomesDue();
    await settle(at(0));
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    expect(await runsOf(`${name}_child`)).toHaveLength(1);
    await expectSound();
  });

  it('are started once when two relays carry out the same start at the same time', async () => {
    await registerWorkflow(at(0), { name: 'doubled_child', version: 1, tasks: [noop('n')] });
    await registerWorkflow(at(0), { name: 'doubled', version: 1, tasks: [sub('child', 'doubled_child')] });
    // The first child of a definition puts it on record, and the starts beside it wait for that.
    await startRun(at(0), 'doubled');
    await settle(at(0));
    const id = await startRun(at(0), 'doubled');
    heldAfter = 'holdAttempt';
    const reached = gate.close();
    const slow = relayOf(at(2)).runOnce();
    await reached;
    await becomesDue();
    await relayOf(at(0)).runOnce();
    heldAfter = undefined;
    gate.open();
    await slow;
    await becomesDue();
    await settle(at(0));
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    expect(await runsOf('doubled_child')).toHaveLength(2);
    await expectSound();
  });

  it('are 200 of one run and end at once: it joins them, on two servers, without a deadlock', async () => {
    await registerWorkflow(at(0), { name: 'one_of_many', version: 1, tasks: [noop('n')] });
    await registerWorkflow(at(0), {
      name: 'of_many',
      version: 1,
      tasks: [
        {
          name: 'fan',
          taskReferenceName: 'fan',
          type: 'FORK_JOIN_DYNAMIC',
          inputParameters: {
            forkTaskWorkflow: 'one_of_many',
            forkTaskInputs: Array.from({ length: 200 }, (_, n) => ({ n })),
          },
        },
        { name: 'joined', taskReferenceName: 'joined', type: 'JOIN' },
      ],
    });
    for (const server of [at(0), at(1)]) server.startLoops('evaluate', 'relay-outbox');
    const id = await startRun(at(0), 'of_many');
    expect(await whenEnded(at(0), id)).toBe('COMPLETED');
    await Promise.all([at(0), at(1)].map((server) => server.stopLoops()));
    expect(await runsOf('one_of_many')).toHaveLength(200);
    expect([...at(0).problems, ...at(1).problems]).toEqual([]);
    await expectSound();
  });

  it('at every depth end with the run above them, whenever that is terminated', async () => {
    await registerWorkflow(at(0), { name: 'leaf', version: 1, tasks: [waits('w')] });
    await registerWorkflow(at(0), { name: 'twig', version: 1, tasks: [sub('leaf', 'leaf'), noop('n')] });
    await registerWorkflow(at(0), {
      name: 'tree',
      version: 1,
      tasks: [
        {
          name: 'split',
          taskReferenceName: 'split',
          type: 'FORK_JOIN',
          forkTasks: [
            [sub('one', 'twig'), noop('after_one')],
            [sub('two', 'twig'), noop('after_two')],
          ],
        },
        { name: 'joined', taskReferenceName: 'joined', type: 'JOIN' },
      ],
    });
    for (const server of [at(0), at(1)]) server.startLoops('evaluate', 'relay-outbox');
    const ids: ExecutionId[] = [];
    // Each is terminated when another number of its messages has been carried out.
    for (let n = 0; n < 20; n += 1) {
      const id = await startRun(at(0), 'tree');
      ids.push(id);
      for (let turn = 0; turn < n % 7; turn += 1) await relayOf(at(1)).runOnce();
      await at(n % 2).useCases.executions.terminate(NAMESPACE, id, 'operator');
    }
    await Promise.all([at(0), at(1)].map((server) => server.stopLoops()));
    await settle(at(0));
    expect(await endsOf(at(0), ids)).toEqual({ TERMINATED: 20 });
    expect((await runsOf('leaf')).filter(({ status }) => status !== 'TERMINATED')).toEqual([]);
    await expectSound();
  });
});
