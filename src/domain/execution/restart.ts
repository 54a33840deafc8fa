import type { Plan } from '../definition/plan.ts';
import type { Instant } from '../kernel/brand.ts';
import { invariant } from '../kernel/invariant.ts';
import type { JsonObject } from '../kernel/json.ts';
import { ok } from '../kernel/result.ts';
import { type Answer, askedBy, type RequestOf, reject } from './answer.ts';
import { raiseFloors } from './attempts.ts';
import { clearDueKeys } from './due-keys.ts';
import type { ExecutionRestarted, PinnedDefinition } from './events.ts';
import { type ExecutionState, isOpen, lookAgainAt, ROOT_KEY } from './state.ts';

/** The whole run begins again, with the same input and, when asked so, by another definition. */
export const acceptRestart = (state: ExecutionState, request: RequestOf<'Restart'>, at: Instant): Answer => {
  if (isOpen(state)) return reject('INVALID_STATE', 'Only an execution that has ended can be restarted.');
  const { definition } = state.plan;
  if (state.lifecycle.status === 'COMPLETED' && !definition.restartable) {
    return reject('INVALID_STATE', `The definition ${definition.name} does not let a completed execution restart.`);
  }
  const { plan } = request;
  const moved = plan === undefined || plan.hash === state.plan.hash ? {} : { definition: pinnedBy(plan) };
  const { variables } = (plan ?? state.plan).definition;
  return ok([{ type: 'ExecutionRestarted', at, ...askedBy(request), ...moved, variables }]);
};

export const pinnedBy = ({ hash, definition: { name, version } }: Plan): PinnedDefinition => ({
  definitionHash: hash,
  name,
  version,
});

export const executionRestarted = (state: ExecutionState, event: ExecutionRestarted): void => {
  // Above all that was used, by the refs of the definition that used them.
  raiseFloors(state, state.plan.nodes.keys());
  if (event.definition !== undefined) followDefinition(state, event.definition);
  beginAgain(state, event.at, event.variables);
};

/** From now on the run follows another plan, which whoever folds has made known before. */
export const followDefinition = (state: ExecutionState, { definitionHash, name, version }: PinnedDefinition): void => {
  if (state.started !== undefined) state.started = { ...state.started, definitionHash, name, version };
  if (definitionHash === state.plan.hash) return;
  const plan = state.plans.get(definitionHash);
  invariant(plan !== undefined, `the plan ${definitionHash} that the log names is not known`);
  const { plan: former, attempts } = state;
  state.plans.set(former.hash, former);
  state.plan = plan;
  // A ref may have been brought in by data before, and the other way round; no attempt of it is known by its ref.
  const highest = Math.max(attempts.highest, 1);
  attempts.dynamicFloor = Math.max(attempts.dynamicFloor, highest);
  if (![...former.nodes.values()].some(({ type }) => type === 'FORK_JOIN_DYNAMIC')) return;
  for (const ref of plan.nodes.keys()) if (!former.nodes.has(ref)) attempts.floors.set(ref, highest);
};

/** As after its start, except that no attempt is ever used twice. */
export const beginAgain = (state: ExecutionState, at: Instant, variables: JsonObject): void => {
  raiseFloors(state, state.plan.nodes.keys());
  state.lifecycle = { status: 'RUNNING' };
  state.variables = variables;
  state.tasks = new Map();
  state.latest = new Map();
  state.dynamicNodes = new Map();
  state.watchers = new Map();
  clearDueKeys(state.due);
  clearDueKeys(state.held);
  state.liveSequences = 1;
  state.openAttempts = 0;
  state.tasksInFlight = 0;
  state.pendingEnd = undefined;
  state.permissiveFailure = undefined;
  state.signals = [];
  state.messages = [];
  state.messageBytes = 0;
  state.messageReaders = new Set();
  state.skips = new Map();
  state.givenInputs = new Map();
  state.waits = new Map();
  state.patched = false;
  state.compensable = [];
  state.compensation = undefined;
  state.deadlineFrom = at;
  state.executionDeadlineMissed = false;
  lookAgainAt(state, ROOT_KEY);
};
