import type { CompiledTemplate } from '../expression/parse-template.ts';
import type { TaskNodeDefinition } from './workflow-definition.ts';

/** What is added to the ref of a task for the ref of the compensation that only names a task definition. */
const COMPENSATION_SUFFIX = '__compensate';

/** The step that undoes a task, as if it had been written out; undefined when the task declares none. */
export const compensationOf = ({
  taskReferenceName,
  compensateWith,
}: TaskNodeDefinition): TaskNodeDefinition | undefined =>
  typeof compensateWith !== 'string'
    ? compensateWith
    : {
        name: compensateWith,
        taskReferenceName: `${taskReferenceName}${COMPENSATION_SUFFIX}`,
        type: 'SIMPLE',
        inputParameters: {},
        optional: false,
        permissive: false,
        startDelaySeconds: 0,
        overrides: {},
        extra: {},
      };

const fieldOf = (ref: string, field: string): CompiledTemplate => {
  const steps = [ref, field].map((name) => ({ kind: 'name', name }) as const);
  const path = { source: `${ref}.${field}`, steps, head: ref, field, name: undefined, secret: undefined };
  return { kind: 'text', template: { kind: 'single', expression: { kind: 'path', offset: 0, path } }, pointer: '' };
};

/**
 * The input of a compensation that only names a task definition: what the task was given and what it gave. Built and not
 * parsed, since a ref may hold characters that no expression can spell.
 */
export const inputOfUndone = (ref: string): CompiledTemplate => ({
  kind: 'object',
  entries: [
    ['input', fieldOf(ref, 'input')],
    ['output', fieldOf(ref, 'output')],
  ],
});
