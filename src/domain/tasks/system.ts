import type { CallTaskType, SystemTaskType } from '../definition/workflow-definition.ts';
import { filled, resolvedInput, type TaskSemantics } from './task-semantics.ts';

/** A step that the server runs outside the pass, leased like any worker's. Its input holds the program. */
const system = (programField: 'scriptExpression' | undefined): TaskSemantics<SystemTaskType> => ({
  family: 'system',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const declared = programField === undefined ? undefined : context.node.definition[programField];
    const input =
      declared === undefined || programField === undefined
        ? resolved.input
        : { [programField]: declared, ...resolved.input };
    return { kind: 'dispatch', input, deferred: resolved.deferred, taskName: context.node.name };
  },
});

export const inline = system(undefined);
export const lambda = system('scriptExpression');
export const jqTransform = system(undefined);
/** Reads, ends or completes what is of another run: a pass never takes another run's lock, so these are done beside it. */
export const ofOtherRuns = system(undefined);

/** Conductor reads there, too, whether somebody else will end the task once the call is made. */
export const ASYNC_COMPLETE = 'asyncComplete';

/** A call to the outside: what its task definition says of the request fills what the step leaves open. */
export const call: TaskSemantics<CallTaskType> = {
  family: 'system',
  enter: (context) => {
    const { node } = context;
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const full = node.inputTemplate === undefined ? resolved : filled(context, node.inputTemplate, resolved);
    if (!full.ok) return full.step;
    const isAsync = node.definition.extra[ASYNC_COMPLETE] === true;
    const input = isAsync ? { ...full.input, [ASYNC_COMPLETE]: true } : full.input;
    return { kind: 'dispatch', input, deferred: full.deferred, taskName: node.name };
  },
};
