import { FAILURE_WORKFLOW_INPUT_FORM } from '../definition/names.ts';
import { derivedExecutionId } from '../kernel/derived-id.ts';
import type { ExecutionClosed, FailureWorkflowStart } from './events.ts';
import type { ExecutionState } from './state.ts';

/** Where the output of a run that failed tells the id of its failure workflow. */
export const FAILURE_WORKFLOW_OUTPUT = 'conductor.failure_workflow';

/** The name as the definition gives it, or as the input of the run does; undefined when neither names one. */
const nameOf = ({ plan, started }: ExecutionState): string | undefined => {
  const { failureWorkflow } = plan.definition;
  if (!failureWorkflow.startsWith(FAILURE_WORKFLOW_INPUT_FORM)) return failureWorkflow;
  const [field = ''] = failureWorkflow.slice(FAILURE_WORKFLOW_INPUT_FORM.length).split('.');
  const input = started?.input ?? {};
  const given = Object.hasOwn(input, field) ? input[field] : undefined;
  return typeof given === 'string' ? given : undefined;
};

/** Of the end that is the next fact: the run that it starts. One that is a failure workflow itself starts none. */
const startOf = (state: ExecutionState, at: ExecutionClosed['at']): FailureWorkflowStart | undefined => {
  const name = nameOf(state);
  if (name === undefined || name === '' || state.started?.failedExecutionId !== undefined) return undefined;
  const version = state.plan.definition.failureWorkflowVersion;
  const executionId = derivedExecutionId(at, failureKey(state, state.seq + 1));
  return { name, ...(version === undefined ? {} : { version }), executionId };
};

/** Names one end of one run: a retried run that fails again starts its failure workflow again. */
export const failureKey = (state: ExecutionState, seq: number): string => `${state.executionId}/failure/${seq}`;

/**
 * The end of a run with the failure workflow that it starts: when it failed or timed out, and when who terminated it asked for
 * one. That the run which is started has this id is known before it is started.
 */
export const withFailureWorkflow = (state: ExecutionState, end: ExecutionClosed, asked = false): ExecutionClosed => {
  const failed = end.status === 'FAILED' || end.status === 'TIMED_OUT';
  const failureWorkflow = failed || asked ? startOf(state, end.at) : undefined;
  if (failureWorkflow === undefined) return end;
  const output = { ...end.output, [FAILURE_WORKFLOW_OUTPUT]: failureWorkflow.executionId };
  return { ...end, output, failureWorkflow };
};
