import fc from 'fast-check';
import type { IdempotencyStrategy } from '../../src/application/use-cases.ts';
import type { JsonObject, JsonValue } from '../../src/domain/kernel/json.ts';
import { isJsonObject } from '../../src/domain/kernel/json.ts';
import { noop, type Step, simple } from '../support/builders.ts';
import type { Chance } from '../support/chance.ts';
import { type Expectation, expectationOf } from '../support/model.ts';
import { type Program, programs } from '../support/programs.ts';
import { drawRates, type FaultRates } from './faults.ts';

/** Everything that one world is made of. It is printed whole, so that anybody can make the same world again. */
export type Config = Readonly<{
  seed: number;
  /** Steps of trouble, before everything heals. */
  steps: number;
  servers: number;
  connections: number;
  workers: number;
  runs: number;
  programs: number;
  /** Tasks that programs complete at most. */
  size: number;
  /** Programs that fail, terminate and forgive by themselves: no end of theirs is calculated. */
  isWild: boolean;
  rowPointShare: number;
  foldCacheBytes: number;
  /** Whether reports take the short road where they can. */
  stepsOnReport: boolean;
  /** Most tasks of one name that may be leased at a time; 0: any number. */
  limit: number;
  /** Whether tasks start runs of their own: children that they wait for, and others. */
  hasChildren: boolean;
  /** Whether tasks wait for people, callbacks and messages. */
  hasDoors: boolean;
  /** Limits on runs: what becomes of those for which there is no place. */
  admission: 'none' | 'QUEUE' | 'REJECT' | 'CAP';
  /** Permits of the semaphore that all tasks for workers need; 0: they need none. */
  permits: number;
  /** Leases of narrow tasks in a second; 0: any number. */
  rate: number;
  /** Tasks for workers and servers that one run may have open at a time; 0: any number. */
  tasksMax: number;
  /** Runs that may go in the namespace at a time; 0: any number. One more may be started in a minute. */
  quota: number;
  /** What starts under a key that is held already ask for. */
  strategies: readonly IdempotencyStrategy[];
  /** Whether operators change the course of runs: take back, skip, jump, upgrade. */
  hasActions: boolean;
  /** Whether failing runs start another. */
  hasFailureWorkflow: boolean;
  /** Whether messages wait for long. */
  isRelaySlow: boolean;
  faults: FaultRates;
}>;

/** A child for which there is no room fails, and with it its parent, however often that is retried. */
const withoutChildren = (config: Config, quota: number): Config =>
  config.hasChildren || config.hasFailureWorkflow ? config : { ...config, quota };

export const drawConfig = (seed: number, steps: number, chance: Chance): Config =>
  withoutChildren(drawAll(seed, steps, chance), chance.pick([0, 0, 0, 2, 3]));

const drawAll = (seed: number, steps: number, chance: Chance): Config => ({
  seed,
  steps,
  servers: chance.pick([1, 2, 2, 3]),
  connections: chance.pick([1, 2, 3, 5]),
  workers: chance.pick([1, 2, 3]),
  runs: chance.pick([1, 2, 3, 4]),
  programs: chance.pick([1, 2]),
  size: chance.pick([6, 12, 20]),
  isWild: chance.isBelow(0.25),
  rowPointShare: chance.pick([0, 0.05, 0.2]),
  foldCacheBytes: chance.pick([0, 12_000, 1_000_000, 1_000_000]),
  stepsOnReport: chance.isBelow(0.6),
  limit: chance.pick([0, 0, 1, 2]),
  hasChildren: chance.isBelow(0.4),
  hasDoors: chance.isBelow(0.4),
  admission: chance.pick(['none', 'none', 'none', 'QUEUE', 'QUEUE', 'REJECT', 'CAP'] as const),
  permits: chance.pick([0, 0, 0, 1, 2]),
  rate: chance.pick([0, 0, 0, 1, 2]),
  tasksMax: chance.pick([0, 0, 0, 1, 2]),
  quota: 0,
  strategies: chance.pick(STRATEGIES_OF_STARTS),
  hasActions: chance.isBelow(0.4),
  hasFailureWorkflow: chance.isBelow(0.4),
  isRelaySlow: chance.isBelow(0.3),
  faults: drawRates(chance),
});

const STRATEGIES_OF_STARTS: readonly (readonly IdempotencyStrategy[])[] = [
  ['RETURN_EXISTING'],
  ['RETURN_EXISTING'],
  ['RETURN_EXISTING', 'FAIL'],
  ['RETURN_EXISTING', 'FAIL_ON_RUNNING'],
];

/** The queues of all worker tasks; the second is the one that may be limited. */
export const QUEUES = ['plain', 'narrow'] as const;
/** The semaphore of the world. */
export const SEMAPHORE = 'permit';
export const FAILURE_WORKFLOW = 'after-failure';

export type Workflow = Readonly<{
  name: string;
  document: JsonObject;
  input: JsonObject;
  /** What must have come of it when everything has been completed; undefined: any end will do. */
  expected: Expectation | undefined;
}>;

const DEPTH = 2;
const CALM = programs(false, false, DEPTH);
const WILD = programs(true, true, DEPTH);
const DRAWS_MAX = 500;

/** Tasks that a child completes at most. */
const CHILD_SIZE = 4;

type Wanted = Readonly<{ size: number; isChild: boolean }>;

const isIdleStep = ({ type }: JsonObject): boolean => type === 'NOOP' || type === 'SET_VARIABLE';

const hasIdleStep = (value: JsonValue): boolean => {
  if (Array.isArray(value)) return value.some(hasIdleStep);
  return isJsonObject(value) && (isIdleStep(value) || Object.values(value).some(hasIdleStep));
};

/** A child has no input, which would be evaluated by its parent first; a parent has a task that can start one. */
const isFit = (program: Program, config: Config, { size, isChild }: Wanted): boolean => {
  if (expectationOf(program).completed.length > size) return false;
  if (isChild) return Object.keys(program.input).length === 0;
  return !(config.hasChildren || config.hasDoors) || hasIdleStep([...program.tasks, program.input]);
};

const drawProgram = (config: Config, wanted: Wanted, chance: Chance): Program => {
  for (let draw = 0; draw < DRAWS_MAX; draw += 1) {
    const seed = Math.floor(chance.next() * 2 ** 31);
    const [program] = fc.sample(config.isWild ? WILD : CALM, { seed, numRuns: 1 });
    if (program !== undefined && isFit(program, config, wanted)) return program;
  }
  throw new Error(`no program of at most ${wanted.size} tasks in ${DRAWS_MAX} draws`);
};

/** Few attempts, no delays, deadlines as long as leases: where things happen at the same time. */
const policyOf = (chance: Chance): JsonObject => ({
  retryCount: chance.pick([0, 1, 2]),
  retryDelaySeconds: chance.pick([0, 0, 1]),
  heartbeatTimeout: chance.pick([1, 5, 60]),
  startToCloseTimeout: chance.pick([0, 60, 120]),
  scheduleToStartTimeout: chance.pick([0, 0, 5]),
  timeoutPolicy: chance.pick(['RETRY', 'RETRY', 'TIME_OUT_WF', 'ALERT_ONLY']),
});

/** What steps are fitted out with. */
type Outfit = Readonly<{ config: Config; chance: Chance; children: readonly Workflow[] }>;

/** A run that a task starts: one that it waits for, named or written out, or one that goes its own way. */
const startStep = (step: JsonObject, child: Workflow, { config, chance }: Outfit): JsonObject => {
  const { name, document } = child;
  const patience = {
    retryCount: chance.pick([0, 1, 2]),
    retryDelaySeconds: chance.pick([0, 0, 1]),
    totalTimeout: chance.pick([0, 0, 60]),
    timeoutPolicy: chance.pick(['RETRY', 'RETRY', 'TIME_OUT_WF', 'ALERT_ONLY']),
  };
  // In a calm world a key may lead to a run that failed, and an attempt that waits for it could never come to a good end.
  const key = { idempotencyKey: `started-${name}`, idempotencyStrategy: chance.pick(STRATEGIES) };
  const kind = chance.pick(['named', 'named', 'inline', 'other'] as const);
  if (kind === 'other') {
    const keyed = chance.isBelow(0.3)
      ? { ...key, ...(config.isWild ? {} : { idempotencyStrategy: STRATEGIES[0] }) }
      : {};
    const startWorkflow = { name, version: 1, input: {}, ...keyed };
    return { ...step, ...patience, type: 'START_WORKFLOW', inputParameters: { startWorkflow } };
  }
  const written = kind === 'inline' ? { workflowDefinition: document } : {};
  const keyed = config.isWild && chance.isBelow(0.2) ? key : {};
  return {
    ...step,
    ...patience,
    type: 'SUB_WORKFLOW',
    inputParameters: {},
    subWorkflowParam: { name, ...written, ...(chance.isBelow(0.5) ? { version: 1 } : {}), ...keyed },
  };
};

const STRATEGIES = ['RETURN_EXISTING', 'FAIL', 'FAIL_ON_RUNNING'] as const;

/** The webhook of the world, and the only payload that ever comes in there. */
export const WEBHOOK = 'hook';
export const WEBHOOK_PAYLOAD = { id: 7 };

/** A task that somebody outside ends. */
const waitingStep = (step: JsonObject, { chance }: Outfit): JsonObject => {
  const patience = {
    retryCount: chance.pick([0, 1, 2]),
    retryDelaySeconds: chance.pick([0, 0, 1]),
    totalTimeout: chance.pick([0, 0, 60]),
    timeoutPolicy: chance.pick(['RETRY', 'RETRY', 'ALERT_ONLY']),
  };
  const waiting = { ...step, ...patience, inputParameters: {} };
  const kind = chance.pick(['person', 'callback', 'webhook', 'messages', 'messages', 'glance'] as const);
  switch (kind) {
    case 'person':
      return { ...waiting, type: 'HUMAN' };
    case 'callback':
      return { ...waiting, type: 'WAIT_FOR_WEBHOOK' };
    case 'webhook': {
      const matches = { '$.id': WEBHOOK_PAYLOAD.id };
      return { ...waiting, type: 'WAIT_FOR_WEBHOOK', inputParameters: { webhook: WEBHOOK, matches } };
    }
    case 'messages': {
      const inputParameters = { batchSize: chance.pick([1, 2]) };
      return { ...waiting, type: 'PULL_WORKFLOW_MESSAGES', inputParameters };
    }
    case 'glance':
      return { ...waiting, type: 'PULL_WORKFLOW_MESSAGES', inputParameters: { blocking: false } };
    default:
      return kind satisfies never;
  }
};

/** What does nothing may start a run instead, or become a task of the system. */
const outfitIdle = (step: JsonObject, outfit: Outfit): JsonObject => {
  const { chance, children } = outfit;
  if (outfit.config.hasDoors && chance.isBelow(0.5)) return waitingStep(step, outfit);
  if (children.length > 0 && chance.isBelow(0.7)) return startStep(step, chance.pick(children), outfit);
  if (step.type !== 'NOOP' || chance.isBelow(0.5)) return step;
  const inputParameters = { evaluatorType: 'value-param', expression: 'value', value: 7 };
  return { ...step, type: 'INLINE', inputParameters };
};

/** Gives each task for a worker its queue and its policy, and others something to do. */
const outfitAll = (value: JsonValue, outfit: Outfit): JsonValue => {
  const { chance } = outfit;
  if (Array.isArray(value)) return value.map((item) => outfitAll(item, outfit));
  if (!isJsonObject(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, outfitAll(item, outfit)]));
  if (inner.type === 'SIMPLE') {
    const undoneBy = typeof inner.compensateWith === 'string' ? { compensateWith: QUEUES[0] } : {};
    return { ...inner, ...undoneBy, name: chance.pick(QUEUES), ...policyOf(chance) };
  }
  return isIdleStep(inner) ? outfitIdle(inner, outfit) : inner;
};

const outputsOf = (counts: ReadonlyMap<string, number>): JsonObject =>
  Object.fromEntries([...counts.keys()].map((ref) => [ref, `\${${ref}.output.n}`]));

/** A task that only the second version of a definition has. */
export const ADDED = 'added';

/** The same with one task more, before all others or behind them. */
export const secondVersion = ({ document, ...workflow }: Workflow, chance: Chance): Workflow => {
  const tasks = Array.isArray(document.tasks) ? document.tasks : [];
  const added = noop(ADDED);
  const longer = chance.isBelow(0.5) ? [added, ...tasks] : [...tasks, added];
  return { ...workflow, document: { ...document, version: 2, tasks: longer } };
};

/** How many runs of a definition may go at a time. Children can only wait for their turn. */
const limitsOf = ({ admission = 'none' }: Config, isChild: boolean, chance: Chance): JsonObject => {
  if (admission === 'none' || (isChild && admission !== 'QUEUE')) return {};
  const limit = chance.pick([1, 1, 2]);
  if (admission === 'CAP') return { maxConcurrentExecutions: limit };
  const rateLimitKey = chance.pick(['all', `\${workflow.correlationId}`]);
  return { rateLimitConfig: { rateLimitKey, concurrentExecLimit: limit, policy: admission } };
};

export type DrawnName = Readonly<{ name: string; isChild: boolean }>;

/** A workflow of the world; registration may still refuse it, and another is drawn. `children`: what its tasks may start. */
export const drawWorkflow = (
  config: Config,
  { name, isChild }: DrawnName,
  children: readonly Workflow[],
  chance: Chance,
): Workflow => {
  const program = drawProgram(config, { size: isChild ? CHILD_SIZE : config.size, isChild }, chance);
  const expected = expectationOf(program);
  const outfit = { config, chance, children };
  const document: JsonObject = {
    name,
    version: 1,
    tasks: outfitAll([...program.tasks], outfit),
    outputParameters: outputsOf(expected.counts),
    ...limitsOf(config, isChild, chance),
    ...(config.tasksMax > 0 ? { maxConcurrentTasks: config.tasksMax } : {}),
    ...(config.hasFailureWorkflow ? { failureWorkflow: FAILURE_WORKFLOW } : {}),
    ...(chance.isBelow(0.2) ? { timeoutSeconds: 600, timeoutPolicy: 'TIME_OUT_WF' } : {}),
  };
  const input = outfitAll(program.input, outfit) as JsonObject;
  return { name, document, input, expected: config.isWild ? undefined : expected };
};

/** What failures start. */
export const failureWorkflow = (): Workflow => {
  const task: Step = simple('tell', { name: QUEUES[0], inputParameters: { n: `\${tell.output.n}` } });
  return {
    name: FAILURE_WORKFLOW,
    document: { name: FAILURE_WORKFLOW, version: 1, tasks: [task], outputParameters: { tell: `\${tell.output.n}` } },
    input: {},
    expected: { completed: ['tell'], undoable: new Map(), counts: new Map([['tell', 1]]) },
  };
};
