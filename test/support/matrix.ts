import type { TaskType } from '../../src/domain/definition/workflow-definition.ts';
import type { ExecutionId, TaskId } from '../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import { dynamicFork, exclusiveJoin, fork, join, loop, type Step, simple, switchOn } from './builders.ts';
import type { RunOptions } from './drive.ts';

/** What may happen to a task, whatever its type. */
export const SCENARIOS = [
  'comes to its end',
  'is refused by its data',
  'fails',
  'is retried',
  'times out',
  'is paused anywhere and resumed',
  'is terminated anywhere and retried',
  'is where the run begins again',
  'runs again with all behind it',
  'runs again alone',
] as const;
export type Scenario = (typeof SCENARIOS)[number];

/** A task under test, called `x`, with what belongs to it. */
export type Subject = Readonly<{
  steps: (x: Shaping) => readonly Step[];
  /** Wire refs of all of it that completes. */
  completes: (path: readonly number[]) => readonly string[];
  /** What of it fails when something does; `x` itself unless told. */
  fails?: (path: readonly number[]) => string;
  /** It ends the run, so that nothing comes after it. */
  ends?: true;
  /** Its tasks are known by its data alone. */
  bringsTasks?: true;
  /** Cells that make no sense, each with the reason. */
  without: Partial<Record<Scenario, string>>;
}>;

/** The step `x` of a type, with the input that may refuse it and what the scenario sets on it. */
export type Shaping = (type: string, fields?: JsonObject, input?: JsonObject) => Step;

export const keyIn = (ref: string, path: readonly number[]): string => [ref, ...path].join('__');

/** Ends by what a worker, the server, a person or the clock says. */
const attempted = (type: TaskType, fields: JsonObject = {}, input: JsonObject = {}): Subject => ({
  steps: (x) => [x(type, fields, input)],
  completes: (path) => [keyIn('x', path)],
  without: {},
});

const NO_ATTEMPT = 'it is done within the decision that enters it';
const NO_POLICY = 'an operator has no retries; what is in it has its own';
const NO_CLOCK = 'an operator has no deadline; what is in it has its own';

/** Resolved by the decision that enters it. */
const resolved = (type: TaskType, fields: JsonObject = {}, input: JsonObject = {}): Subject => ({
  ...attempted(type, fields, input),
  without: { fails: NO_ATTEMPT, 'is retried': NO_ATTEMPT, 'times out': NO_ATTEMPT },
});

/** Holds other tasks, or waits for them; one of those fails. */
const holding = (refs: readonly string[], steps: Subject['steps'], failing = 'x2'): Subject => ({
  steps,
  completes: (path) => refs.map((ref) => keyIn(ref, path)),
  fails: (path) => keyIn(failing, path),
  without: { 'is retried': NO_POLICY, 'times out': NO_CLOCK },
});

const PAIR = [simple('x1'), simple('x2')];
const OTHERS = [simple('x3'), simple('x4')];
const ALL_FOUR = ['x1', 'x2', 'x3', 'x4'];

/** One of each type: a type that is missing does not compile. */
export const SUBJECTS: Readonly<Record<TaskType, Subject>> = {
  SIMPLE: attempted('SIMPLE'),
  DYNAMIC: attempted('DYNAMIC', { dynamicTaskNameParam: 'which' }, { which: 'chosen' }),
  INLINE: attempted('INLINE', {}, { expression: '1' }),
  LAMBDA: attempted('LAMBDA', { scriptExpression: 'return 1' }),
  JSON_JQ_TRANSFORM: attempted('JSON_JQ_TRANSFORM', {}, { queryExpression: '.' }),
  GET_WORKFLOW: attempted('GET_WORKFLOW', {}, { id: 'other' }),
  TERMINATE_WORKFLOW: attempted('TERMINATE_WORKFLOW', {}, { workflowId: 'other' }),
  UPDATE_TASK: attempted('UPDATE_TASK', {}, { workflowId: 'other', taskRefName: 'its', taskStatus: 'COMPLETED' }),
  HTTP: attempted('HTTP', {}, { uri: 'https://api.example.com/' }),
  HTTP_POLL: attempted('HTTP_POLL', {}, { uri: 'https://api.example.com/' }),
  JDBC: attempted('JDBC', {}, { datasource: 'orders', statement: 'select 1' }),
  WAIT: attempted('WAIT'),
  YIELD: attempted('YIELD'),
  HUMAN: attempted('HUMAN'),
  WAIT_FOR_WEBHOOK: attempted('WAIT_FOR_WEBHOOK'),
  PULL_WORKFLOW_MESSAGES: attempted('PULL_WORKFLOW_MESSAGES'),
  EVENT: attempted('EVENT', { sink: 'internal:told', asyncComplete: true }),
  SUB_WORKFLOW: attempted('SUB_WORKFLOW', { subWorkflowParam: { name: 'below' } }),
  START_WORKFLOW: attempted('START_WORKFLOW', {}, { startWorkflow: { name: 'beside' } }),
  KAFKA_PUBLISH: resolved('KAFKA_PUBLISH', {}, { kafka_request: { topic: 'told', value: 'x' } }),
  SET_VARIABLE: resolved('SET_VARIABLE'),
  NOOP: resolved('NOOP'),
  TERMINATE: { ...resolved('TERMINATE', {}, { terminationStatus: 'COMPLETED' }), ends: true },
  SWITCH: holding(['x', 'x1', 'x2'], (x) => [
    x('SWITCH', { evaluatorType: 'value-param', expression: 'of', decisionCases: { one: PAIR } }, { of: 'one' }),
  ]),
  DECISION: holding(['x', 'x1', 'x2'], (x) => [
    x('DECISION', { caseValueParam: 'of', decisionCases: { one: PAIR } }, { of: 'one' }),
  ]),
  FORK_JOIN: holding(['x', 'xj', ...ALL_FOUR], (x) => [x('FORK_JOIN', { forkTasks: [PAIR, OTHERS] }), join('xj')]),
  FORK_JOIN_DYNAMIC: {
    ...holding(['x', 'xj', 'x1', 'x2'], (x) => [
      { ...dynamicFork('x', PAIR), ...x('FORK_JOIN_DYNAMIC', {}, { tasks: PAIR, inputs: {} }) },
      join('xj'),
    ]),
    bringsTasks: true,
  },
  JOIN: holding(['x', 'xf', ...ALL_FOUR], (x) => [fork('xf', [PAIR, OTHERS]), x('JOIN', { joinOn: [] })]),
  EXCLUSIVE_JOIN: holding(['x', 'xf', ...ALL_FOUR], (x) => [
    fork('xf', [PAIR, OTHERS]),
    { ...exclusiveJoin('x', ['x2', 'x4']), ...x('EXCLUSIVE_JOIN') },
  ]),
  DO_WHILE: {
    ...holding([], (x) => [x('DO_WHILE', { loopCondition: '$.x.iteration < 2', loopOver: PAIR })]),
    completes: (path) => [
      keyIn('x', path),
      ...[1, 2].flatMap((iteration) => ['x1', 'x2'].map((ref) => keyIn(ref, [...path, iteration]))),
    ],
    fails: (path) => keyIn('x2', [...path, 1]),
  },
};

export type Place = Readonly<{
  around: (steps: readonly Step[]) => readonly Step[];
  /** Where the task is reached: its iterations. */
  paths: readonly (readonly number[])[];
  /** What completes of the place itself. */
  completes: readonly string[];
  /** The same when the task ends the run where it is reached first. */
  completesUntil: readonly string[];
  /** What is entered behind the task. */
  behind?: string;
  options?: RunOptions;
}>;

const PARENT = {
  executionId: '01890000-0000-7000-8000-00000000000a' as ExecutionId,
  taskId: '01890000-0000-7000-8000-00000000000a.2' as TaskId,
  ref: 'p',
  iteration: 0,
  attempt: 1,
};

/** `a` comes before the task and tells it whether its input makes sense. */
export const PLACES: Readonly<Record<string, Place>> = {
  'at top level': {
    around: (steps) => [simple('a'), ...steps, simple('z')],
    paths: [[]],
    completes: ['a', 'z'],
    completesUntil: ['a'],
    behind: 'z',
  },
  'in a branch of more than one task': {
    around: (steps) => [
      fork('f', [
        [simple('a'), ...steps, simple('z')],
        [simple('q1'), simple('q2')],
      ]),
      join('j'),
      simple('end'),
    ],
    paths: [[]],
    completes: ['f', 'a', 'z', 'q1', 'q2', 'j', 'end'],
    completesUntil: ['f', 'a'],
    behind: 'z',
  },
  'last in a loop with nothing after it': {
    around: (steps) => [loop('l', 2, [simple('a'), ...steps])],
    paths: [[1], [2]],
    completes: ['a__1', 'a__2', 'l'],
    completesUntil: ['a__1'],
  },
  'in a case of a switch': {
    around: (steps) => [switchOn('s', 'one', { one: [simple('a'), ...steps], two: [simple('never')] }), simple('z')],
    paths: [[]],
    completes: ['s', 'a', 'z'],
    completesUntil: ['s', 'a'],
    behind: 'z',
  },
  'in a run below another': {
    around: (steps) => [simple('a'), ...steps],
    paths: [[]],
    completes: ['a'],
    completesUntil: ['a'],
    options: { started: { parent: PARENT } },
  },
};
