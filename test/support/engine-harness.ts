import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createPostgresStores } from '../../src/adapters/postgres/stores.ts';
import { createWakeHints } from '../../src/adapters/postgres/wake-hints.ts';
import { createSteeringSandbox } from '../../src/adapters/sandbox/steering-sandbox.ts';
import { createTaskSandbox } from '../../src/adapters/sandbox/task-sandbox.ts';
import type { UseCases } from '../../src/application/use-cases.ts';
import { callbackKeyOf } from '../../src/composition/callback-key.ts';
import { compose, type Outbound } from '../../src/composition/container.ts';
import { createLog } from '../../src/composition/log.ts';
import { createLoops } from '../../src/composition/roles.ts';
import { TOKENS } from '../../src/composition/tokens.ts';
import type { Namespace } from '../../src/domain/kernel/brand.ts';
import { noCalls } from './outbound.ts';
import { testSeal } from './seal.ts';

export const NAMESPACE = 'default' as Namespace;

export type EngineHarness = Readonly<{ useCases: UseCases; stop(): Promise<void> }>;

/** A whole engine in this process over the given database, without HTTP: what embedding and benchmarks use. */
export const startEngine = async (
  options: Readonly<{
    url: string;
    allowUnsafeDurability: boolean;
    poolMax?: number;
    notify?: boolean;
    outbound?: Outbound;
  }>,
): Promise<EngineHarness> => {
  const { url, allowUnsafeDurability, poolMax = 12, notify = false } = options;
  const log = createLog('error');
  const warn = (message: string): void => log.warn(message);
  const stores = await createPostgresStores({ url, poolMax, allowUnsafeDurability, log: warn });
  const wake = await createWakeHints({ url, notify, log: warn });
  const sandbox = createTaskSandbox({ workersMax: 2 });
  const steering = await createSteeringSandbox();
  const foundations = {
    ...stores,
    wake,
    sandbox,
    seal: testSeal,
    outbound: options.outbound ?? noCalls,
    steering,
    log,
    clock: systemClock,
    callbackKey: await callbackKeyOf(stores.access),
    foldCacheBytesMax: 256 * 1_048_576,
    stepsOnReport: true,
    circuitBreakers: false,
  };
  const container = compose(foundations);
  await stores.access.createNamespace(NAMESPACE);
  const loops = createLoops(container, new Set(['api', 'decider', 'poller']), async () => undefined);
  for (const loop of loops) loop.start();
  return {
    useCases: container.resolve(TOKENS.useCases),
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
      container.resolve(TOKENS.delayed).close();
      await sandbox.close();
      await wake.close();
      await stores.close();
    },
  };
};
