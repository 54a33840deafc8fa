import type { JsonObject } from '../src/domain/kernel/json.ts';
import { QUEUE } from './doors/door.ts';

export type Definition = JsonObject & Readonly<{ name: string }>;

/** Inputs that say which run a task belongs to and its place in it: what `markOf` reads. */
const mark = (n: number): JsonObject => ({ n, run: '${workflow.input.run}' });

const step = (n: number, more: JsonObject = {}): JsonObject => ({
  name: QUEUE,
  taskReferenceName: `s${n}`,
  type: 'SIMPLE',
  inputParameters: { ...mark(n), ...more },
});

const upTo = (length: number): readonly number[] => Array.from({ length }, (_, index) => index + 1);

/** A chain of worker tasks. */
export const chain = (length: number, name = `chain-${length}`): Definition => ({
  name,
  version: 1,
  tasks: upTo(length).map((n) => step(n)),
});

/** A chain whose tasks hand a payload on, from the input to the output of the run. */
export const payloadChain = (length: number): Definition => ({
  name: `payload-chain-${length}`,
  version: 1,
  tasks: upTo(length).map((n) =>
    step(n, { payload: n === 1 ? '${workflow.input.payload}' : `\${s${n - 1}.output.payload}` }),
  ),
  outputParameters: { payload: `\${s${length}.output.payload}` },
});

/** A dynamic fork over the list in its input, with a join. */
export const fanOut: Definition = {
  name: 'fan-out',
  version: 1,
  tasks: [
    {
      name: 'fan',
      taskReferenceName: 'fan',
      type: 'FORK_JOIN_DYNAMIC',
      inputParameters: { forkTaskName: QUEUE, forkTaskInputs: '${workflow.input.items}' },
    },
    { name: 'join', taskReferenceName: 'join', type: 'JOIN' },
  ],
  outputParameters: { done: 'yes' },
};

/** One worker task, over and over. */
export const loopOf = (times: number): Definition => ({
  name: `loop-${times}`,
  version: 1,
  tasks: [
    {
      name: 'again',
      taskReferenceName: 'again',
      type: 'DO_WHILE',
      keepLastN: 1,
      loopCondition: `\${again.output.iteration} < ${times}`,
      loopOver: [{ name: QUEUE, taskReferenceName: 's1', type: 'SIMPLE' }],
    },
  ],
});

/** The fan-out of `fanOut`, three times in a loop. */
export const loopOfForks: Definition = {
  name: 'loop-of-forks',
  version: 1,
  tasks: [
    {
      name: 'again',
      taskReferenceName: 'again',
      type: 'DO_WHILE',
      keepLastN: 1,
      items: [1, 2, 3],
      loopOver: fanOut.tasks ?? [],
    },
  ],
  outputParameters: { done: 'yes' },
};

/** Children side by side, each a run of one task. */
export const parentOf = (children: number, child: string): Definition => ({
  name: `parent-of-${children}`,
  version: 1,
  tasks: [
    {
      name: 'fork',
      taskReferenceName: 'fork',
      type: 'FORK_JOIN',
      forkTasks: upTo(children).map((n) => [
        { name: child, taskReferenceName: `c${n}`, type: 'SUB_WORKFLOW', subWorkflowParam: { name: child } },
      ]),
    },
    { name: 'join', taskReferenceName: 'join', type: 'JOIN', joinOn: upTo(children).map((n) => `c${n}`) },
  ],
});

/** Waits for longer than any bench runs. */
export const waiting: Definition = {
  name: 'waiting',
  version: 1,
  tasks: [{ name: 'wait', taskReferenceName: 'wait', type: 'WAIT', inputParameters: { duration: '10 hours' } }],
};

/** Its one task is in a queue that nobody serves. */
export const unserved: Definition = {
  name: 'unserved',
  version: 1,
  tasks: [{ name: 'unserved', taskReferenceName: 's1', type: 'SIMPLE', inputParameters: mark(1) }],
};
