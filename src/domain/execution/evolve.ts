import { invariant, unreachable } from '../kernel/invariant.ts';
import { environmentRead } from './environment.ts';
import type { ExecutionClosed, ExecutionStarted, WorkflowEvent } from './events.ts';
import { cancelOpen, compensationEnded, compensationInterrupted, compensationStarted } from './fold-compensation.ts';
import { loopIterated, operatorClosed, operatorOpened, operatorResolved } from './fold-operators.ts';
import {
  taskCanceled,
  taskClosed,
  taskDeadlineMissed,
  taskRefused,
  taskScheduled,
  taskSkipped,
  taskTakenFromCache,
} from './fold-tasks.ts';
import { executionJumped } from './jump.ts';
import { messageReceived } from './messages.ts';
import { reopen } from './reopen.ts';
import { executionRerun } from './rerun.ts';
import { tasksRerun } from './rerun-tasks.ts';
import { executionRestarted } from './restart.ts';
import { skipRequested } from './skip-task.ts';
import { copyState, type ExecutionState, lookAgainAt, ROOT_KEY } from './state.ts';
import { executionUpgraded } from './upgrade.ts';

/** The fold, pure from outside: the given state is left as it was. */
export const evolve = (state: ExecutionState, events: readonly WorkflowEvent[]): ExecutionState => {
  const next = copyState(state);
  for (const event of events) applyEvent(next, event);
  return next;
};

/** Folds one event into a state that the caller owns. */
export const applyEvent = (state: ExecutionState, event: WorkflowEvent): void => {
  state.seq += 1;
  state.at = event.at;
  switch (event.type) {
    case 'ExecutionStarted':
      return started(state, event);
    case 'TaskScheduled':
      return taskScheduled(state, event);
    case 'TaskClosed':
      return taskClosed(state, event);
    case 'TaskRefused':
      return taskRefused(state, event);
    case 'TaskTakenFromCache':
      return taskTakenFromCache(state, event);
    case 'TaskDeadlineMissed':
      return taskDeadlineMissed(state, event);
    case 'OperatorResolved':
      return operatorResolved(state, event);
    case 'OperatorOpened':
      return operatorOpened(state, event);
    case 'LoopIterated':
      return loopIterated(state, event);
    case 'OperatorClosed':
      return operatorClosed(state, event);
    case 'SignalBuffered':
      state.signals.push(event);
      return;
    case 'MessageReceived':
      return messageReceived(state, event);
    case 'ExecutionQueued':
      state.awaitingAdmission = true;
      return;
    case 'ExecutionAdmitted':
      state.awaitingAdmission = false;
      return lookAgainAt(state, ROOT_KEY);
    case 'ExecutionPaused':
      state.lifecycle = { status: 'PAUSED' };
      return;
    case 'ExecutionResumed':
      state.lifecycle = { status: 'RUNNING' };
      return lookAgainAt(state, ROOT_KEY);
    case 'CompensationStarted':
      return compensationStarted(state, event);
    case 'CompensationEnded':
      return compensationEnded(state, event);
    case 'ExecutionClosed':
      return executionClosed(state, event);
    case 'ExecutionRetried':
      state.parent = event.parent ?? state.parent;
      return reopen(state, event.at, event.resumesChildren === true);
    case 'ExecutionAdopted':
      state.parent = event.parent;
      return;
    case 'ExecutionRerun':
      return executionRerun(state, event);
    case 'TasksRerun':
      return tasksRerun(state, event);
    case 'ExecutionRestarted':
      return executionRestarted(state, event);
    case 'ExecutionJumped':
      return executionJumped(state, event);
    case 'ExecutionUpgraded':
      return executionUpgraded(state, event);
    case 'EnvironmentRead':
      return environmentRead(state, event);
    case 'VariablesSet':
      state.variables = { ...state.variables, ...event.variables };
      return;
    case 'SkipRequested':
      return skipRequested(state, event);
    case 'TaskSkipped':
      return taskSkipped(state, event);
    case 'TaskCanceled':
      return taskCanceled(state, event);
    case 'ExecutionDeadlineMissed':
      state.executionDeadlineMissed = true;
      return;
    default:
      return unreachable(event);
  }
};

const started = (state: ExecutionState, event: ExecutionStarted): void => {
  invariant(state.lifecycle.status === 'NEW', 'ExecutionStarted is the first event');
  state.lifecycle = { status: 'RUNNING' };
  state.started = event;
  state.parent = event.parent;
  state.variables = event.variables;
  state.liveSequences = 1;
  state.deadlineFrom = event.at;
  lookAgainAt(state, ROOT_KEY);
};

const executionClosed = (state: ExecutionState, event: ExecutionClosed): void => {
  cancelOpen(state, event.at);
  compensationInterrupted(state, event.reason);
  state.awaitingAdmission = false;
  state.lifecycle = { status: event.status, endedAt: event.at, reason: event.reason, output: event.output };
};
