import type { ApplicationError } from '../application/application-error.ts';
import type { ExecutionDetail, GivenDocument, WorkflowTest } from '../application/use-cases.ts';
import { ok, type Result } from '../domain/kernel/result.ts';
import { MockedWork } from './mocked-work.ts';
import { MockBook } from './mocks.ts';
import { runToTheEnd, VIRTUAL_SECONDS_MAX } from './simulate.ts';
import { NAMESPACE, openSimulatedEngine, type SimulatedEngine } from './simulated-engine.ts';
import { createVirtualClock } from './virtual-clock.ts';

/** How long the machine works on one test; then it is told as far as it came. */
export const TEST_MS_MAX = 10_000;
/** Between two looks at the requests that came meanwhile. */
const SHARE_MS = 20;

type Registered = Result<Readonly<{ name: string; version: number }>, ApplicationError>;

const register = async ({ useCases }: SimulatedEngine, given: GivenDocument): Promise<Registered> => {
  const { definitions } = useCases;
  const registered = await definitions.registerWorkflow(NAMESPACE, given.document, given.dialect, true);
  return registered.ok ? ok(registered.value.definition) : registered;
};

/** Stops at the end of the time, or when nobody waits for it, and lets the server answer others in between. */
const turnTaker = (signal: AbortSignal): (() => Promise<boolean>) => {
  const deadline = performance.now() + TEST_MS_MAX;
  let yieldedAt = performance.now();
  return async () => {
    if (performance.now() - yieldedAt > SHARE_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      yieldedAt = performance.now();
    }
    return signal.aborted || performance.now() > deadline;
  };
};

/**
 * Runs a definition by the real engine over stores in memory, on virtual time, to its end or to the first task that nobody
 * told the outcome of. Errors: those of a registration and of a start.
 */
export const testWorkflow = async (test: WorkflowTest): Promise<Result<ExecutionDetail, ApplicationError>> => {
  const clock = createVirtualClock();
  const work = new MockedWork(clock, new MockBook(test.outcomes, false), false);
  const simulated: SimulatedEngine = await openSimulatedEngine(clock, (tasks) =>
    work.intercept(() => simulated, tasks),
  );
  try {
    for (const { document, dialect } of test.taskDefinitions) {
      const task = await simulated.useCases.definitions.registerTask(NAMESPACE, document, dialect);
      if (!task.ok) return task;
    }
    for (const other of test.others) {
      const registered = await register(simulated, other);
      if (!registered.ok) return registered;
    }
    const registered = await register(simulated, test.definition);
    if (!registered.ok) return registered;
    const { name, version } = registered.value;
    const started = await simulated.useCases.executions.start(NAMESPACE, { ...test.start, name, version });
    if (!started.ok) return started;
    await runToTheEnd(simulated, clock, work, VIRTUAL_SECONDS_MAX, turnTaker(test.signal));
    return await simulated.useCases.executions.get(NAMESPACE, started.value.executionId);
  } finally {
    await simulated.close();
  }
};
