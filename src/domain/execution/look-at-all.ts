import { type ExecutionState, lookAgainAt, ROOT_KEY } from './state.ts';

/** Makes the next decision look at everything, as if each fact had just happened. */
export const lookAtAll = (state: ExecutionState): void => {
  lookAgainAt(state, ROOT_KEY);
  for (const key of state.tasks.keys()) lookAgainAt(state, key);
};
