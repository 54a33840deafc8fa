import pino from 'pino';
import { createMemoryStores } from '../../src/adapters/memory/stores.ts';
import type { UseCases } from '../../src/application/use-cases.ts';
import { compose } from '../../src/composition/container.ts';
import { createLoops } from '../../src/composition/roles.ts';
import { TOKENS } from '../../src/composition/tokens.ts';
import type { ExecutionId, Namespace } from '../../src/domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../../src/domain/kernel/json.ts';
import { err, ok, type Result } from '../../src/domain/kernel/result.ts';
import type { LeasedTask } from '../../src/ports/engine-store.ts';
import { createFakeClock } from './fake-clock.ts';
import { noCalls } from './outbound.ts';
import { evaluateScript } from './scripts.ts';
import { testSeal } from './seal.ts';

const STOPPED = err({ code: 'SANDBOX_UNAVAILABLE', message: 'no system task runs here' } as const);

const accepted = <T, E>(result: Result<T, E>): T => {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`);
  return result.value;
};

/** The whole application over the store in memory, its passes and loops under the hand of the test. */
export const memoryEngine = (namespace: Namespace = 'default' as Namespace) => {
  const clock = createFakeClock();
  const stores = createMemoryStores({ clock });
  const container = compose({
    ...stores,
    clock,
    log: pino({ level: 'silent' }),
    steering: { evaluate: evaluateScript, checkSyntax: () => ok(undefined) },
    sandbox: { runScript: async () => STOPPED, runJq: async () => STOPPED, close: async () => undefined },
    seal: testSeal,
    outbound: noCalls,
    foldCacheBytesMax: 1_000_000,
    stepsOnReport: true,
    circuitBreakers: false,
    callbackKey: 'key',
  });
  const useCases: UseCases = container.resolve(TOKENS.useCases);
  const evaluator = container.resolve(TOKENS.evaluator);
  const loops = createLoops(container, new Set(['api', 'decider', 'poller']), async () => undefined);
  const evaluate = async (): Promise<void> => {
    while ((await evaluator.runOnce()) > 0);
  };
  return {
    namespace,
    useCases,
    engine: stores.engine,
    advance: (ms: number) => clock.advance(ms),
    register: async (document: JsonObject) =>
      accepted(await useCases.definitions.registerWorkflow(namespace, document, 'v1', false)),
    registerTask: async (document: JsonObject) =>
      accepted(await useCases.definitions.registerTask(namespace, document, 'v1')),
    start: async (name: string, input: JsonObject = {}, rest = {}): Promise<ExecutionId> => {
      const request = { name, input, priority: 0, idempotencyStrategy: 'RETURN_EXISTING' as const, ...rest };
      return accepted(await useCases.executions.start(namespace, request)).executionId;
    },
    lease: async (queue: string): Promise<LeasedTask | undefined> => {
      const signal = new AbortController().signal;
      const call = { namespace, queues: [queue], workerId: 'worker', count: 1, waitMs: 0, signal };
      return accepted(await useCases.workers.lease(call))[0];
    },
    report: async ({ taskId, leaseToken }: LeasedTask, output: JsonObject): Promise<void> => {
      await useCases.workers.report(namespace, [{ taskId, leaseToken, status: 'COMPLETED', output }]);
      await evaluate();
    },
    heartbeat: async ({ taskId, leaseToken }: LeasedTask, progress: JsonValue) =>
      accepted(await useCases.workers.heartbeat(namespace, { taskId, leaseToken, progress })),
    get: async (id: ExecutionId) => accepted(await useCases.executions.get(namespace, id)),
    runLoopOnce: async (name: string): Promise<void> => {
      const loop = loops.find((candidate) => candidate.name === name);
      if (loop === undefined) throw new Error(`there is no loop ${name}`);
      loop.start();
      await loop.stop();
    },
    evaluate,
  };
};
