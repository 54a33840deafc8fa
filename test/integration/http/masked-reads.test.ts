import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROUTES } from '../../../src/adapters/http/route-table.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { dynamicFork, join, loopOverItems, setVariable, simple, yieldStep } from '../../support/builders.ts';
import { memoryEngine } from '../../support/memory-engine.ts';
import { type Fixture, startFixture } from './support/http-fixture.ts';
import { ROUTE_CASES } from './support/route-cases.ts';
import { NAMESPACE, RUN } from './support/samples.ts';

const HIDDEN = 'in the clear';
const CARD: JsonObject = { card: HIDDEN, _secrets: { pin: HIDDEN }, seen: 'of everybody' };
const INPUT: JsonObject = { payment: [{ ...CARD }], card: { number: HIDDEN } };

const DEFINITION: JsonObject = {
  name: 'pay',
  maskedFields: ['card', 'holder'],
  variables: { holder: HIDDEN },
  tasks: [
    setVariable('v', { card: '${workflow.input.payment[0].card}' }),
    simple('charge', { inputParameters: { payment: '${workflow.input.payment}' } }),
    dynamicFork('f', [{ name: 'more', taskReferenceName: 'more' }], { more: { card: HIDDEN } }),
    join('j'),
    loopOverItems('l', '${workflow.input.payment}', [yieldStep('y')]),
  ],
  outputParameters: { deep: { holder: '${workflow.input.card}', seen: '${charge.output.seen}' } },
};

const READS = ROUTES.filter(({ scope }) => scope === 'executions:read').map(({ method, path }) => `${method} ${path}`);

describe('values under masked keys', () => {
  const engine = memoryEngine(NAMESPACE);
  let fixture: Fixture;
  let key: string;
  let id: ExecutionId;
  const handed: unknown[] = [];

  const work = async (queue: string): Promise<void> => {
    const task = await engine.lease(queue);
    if (task === undefined) throw new Error(`nothing in ${queue}`);
    handed.push(task.input);
    await engine.heartbeat(task, CARD);
    live.push(await texts());
    await engine.report(task, CARD);
  };
  const live: string[][] = [];
  const read = async (name: string): Promise<string> => {
    const { path = '', json } = ROUTE_CASES[name] ?? {};
    const [method = 'GET'] = name.split(' ');
    const answer = await fixture.send(method, path.replace(RUN, id), { key, ...(json === undefined ? {} : { json }) });
    return `${name} ${answer.status} ${answer.text}`;
  };
  // A stream ends with its run: before, only the others are read.
  const texts = () => Promise.all(READS.filter((name) => !name.endsWith('/stream')).map(read));

  beforeAll(async () => {
    fixture = await startFixture({ overrides: { executions: engine.useCases.executions } });
    key = await fixture.key(['executions:read']);
    await engine.register(DEFINITION);
    id = await engine.start('pay', INPUT);
    await work('charge');
    await work('more');
    await engine.useCases.executions.signal(NAMESPACE, id, { ref: 'y', status: 'COMPLETED', output: CARD }, 'someone');
  });
  afterAll(() => fixture.server.stop());

  it.each(READS)('are shown by no answer of %s', async (name) => {
    const text = await read(name);
    expect(text).toContain(`${name} 200`);
    expect(text).not.toContain(HIDDEN);
  });

  it('are shown by none while the run goes on and its workers tell of their progress', () => {
    expect(live.flat().filter((text) => !text.includes(' 200 '))).toEqual([]);
    expect(live.flat().filter((text) => text.includes(HIDDEN))).toEqual([]);
    expect(live.flat().some((text) => text.includes('"progress":{"card":"***"'))).toBe(true);
  });

  it('are replaced where they stand, and all around them stays', async () => {
    const { view } = await engine.get(id);
    expect(view.status).toBe('COMPLETED');
    expect(view.input).toEqual({ payment: [{ card: '***', _secrets: '***', seen: 'of everybody' }], card: '***' });
    expect(view.output).toEqual({ deep: { holder: '***', seen: 'of everybody' } });
    expect(view.variables).toEqual({ holder: '***', card: '***' });
  });

  it('are handed to workers and kept as they are', async () => {
    expect(handed).toEqual([{ payment: [CARD] }, { card: HIDDEN }]);
    const log = await engine.engine.transaction((tx) => tx.readEvents(new Map([[id, 0]])));
    expect(log.get(id)?.[0]?.event).toMatchObject({ input: INPUT });
  });

  it('are those of every run under _secrets and _masked', async () => {
    await engine.register({ name: 'plain', tasks: [simple('x')] });
    const other = await engine.start('plain', { _masked: { a: 1 }, list: [{ _secrets: [1] }], card: 'shown' });
    expect((await engine.get(other)).view.input).toEqual({
      _masked: '***',
      list: [{ _secrets: '***' }],
      card: 'shown',
    });
  });

  it('never hide what is the engine’s own, whatever the keys are called', async () => {
    const maskedFields = ['status', 'type', 'seq', 'ref', 'kind', 'input'];
    await engine.register({ name: 'odd', maskedFields, tasks: [simple('x')] });
    const odd = await engine.start('odd', { status: 1, a: { kind: 2 } });
    const { view } = await engine.get(odd);
    expect([view.status, view.input, view.tasks[0]?.type]).toEqual([
      'RUNNING',
      { status: '***', a: { kind: '***' } },
      'SIMPLE',
    ]);
    const history = await engine.useCases.executions.history(NAMESPACE, odd, 0, 10);
    expect(history).toMatchObject({ value: { events: [{ seq: 1, event: { type: 'ExecutionStarted' } }, {}] } });
  });
});
