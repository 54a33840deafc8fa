import type { JsonObject } from '../src/domain/kernel/json.ts';

/** A chain of `length` worker tasks named `step`, all served from one queue. */
export const chain = (length: number): JsonObject => ({
  name: `chain-${length}`,
  version: 1,
  tasks: Array.from({ length }, (_, index) => ({
    name: 'step',
    taskReferenceName: `s${index + 1}`,
    type: 'SIMPLE',
    inputParameters: { n: index + 1, from: '${workflow.input.id}' },
  })),
});

/** A dynamic fork over the list in its input, with a join. */
export const fanOut: JsonObject = {
  name: 'fan-out',
  version: 1,
  tasks: [
    {
      name: 'fan',
      taskReferenceName: 'fan',
      type: 'FORK_JOIN_DYNAMIC',
      inputParameters: { forkTaskName: 'step', forkTaskInputs: '${workflow.input.items}' },
    },
    { name: 'join', taskReferenceName: 'join', type: 'JOIN' },
  ],
  outputParameters: { done: 'yes' },
};

/** One worker task, over and over. */
export const loopOf = (times: number): JsonObject => ({
  name: `loop-${times}`,
  version: 1,
  tasks: [
    {
      name: 'again',
      taskReferenceName: 'again',
      type: 'DO_WHILE',
      keepLastN: 1,
      loopCondition: `\${again.output.iteration} < ${times}`,
      loopOver: [{ name: 'step', taskReferenceName: 'step', type: 'SIMPLE' }],
    },
  ],
});

/** The fan-out of `fanOut`, three times in a loop. */
export const loopOfForks: JsonObject = {
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
