import pino from 'pino';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createMemoryStores } from '../../src/adapters/memory/stores.ts';
import { createSteeringSandbox } from '../../src/adapters/sandbox/steering-sandbox.ts';
import { createTaskSandbox } from '../../src/adapters/sandbox/task-sandbox.ts';
import type { Loop } from '../../src/application/loop.ts';
import { ROLES } from '../../src/composition/config.ts';
import type { Outbound } from '../../src/composition/container.ts';
import { compose } from '../../src/composition/container.ts';
import { messageHandlers } from '../../src/composition/message-handlers.ts';
import { createLoops } from '../../src/composition/roles.ts';
import { TOKENS } from '../../src/composition/tokens.ts';
import type { NamedValueStore } from '../../src/ports/named-values.ts';
import type { SecretSeal } from '../../src/ports/secret-seal.ts';
import type { TestServer } from './engine.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { noCalls } from './outbound.ts';
import { testSeal } from './seal.ts';

const ROUNDS_MAX = 2_000;
const FOLD_CACHE_BYTES = 64 * 1_048_576;

/** A whole server over the store in memory, on a clock that stands still; its loops turn when the test says so. */
export type MemoryServer = TestServer &
  Readonly<{
    clock: FakeClock;
    values: NamedValueStore;
    /** Turns passes, relay and timers until none of them finds anything to do. */
    settle(): Promise<void>;
    /** Lets time pass, and settles. */
    later(ms: number): Promise<void>;
  }>;

const steering = createSteeringSandbox();

export type MemoryServerOptions = Readonly<{ outbound?: Outbound; seal?: SecretSeal }>;

export const openMemoryServer = (options: MemoryServerOptions = {}): Promise<MemoryServer> =>
  openOver(createFakeClock(), options);

/** The same on the clock of this machine, for tests whose clients keep time themselves: start its loops. */
export const openRunningMemoryServer = async (): Promise<Omit<MemoryServer, 'clock' | 'later'>> => {
  const nothing = (): void => undefined;
  const server = await openOver({ ...systemClock, set: nothing, advance: nothing });
  server.startLoops();
  return server;
};

const openOver = async (clock: FakeClock, options: MemoryServerOptions = {}): Promise<MemoryServer> => {
  const stores = createMemoryStores({ clock });
  const problems: string[] = [];
  const sandbox = createTaskSandbox({ workersMax: 1 });
  const container = compose({
    ...stores,
    clock,
    sandbox,
    seal: options.seal ?? testSeal,
    outbound: options.outbound ?? noCalls,
    stepsOnReport: true,
    circuitBreakers: false,
    callbackKey: 'a key for tests, thirty-two characters',
    steering: await steering,
    log: pino({ level: 'warn', base: null }, { write: (line: string) => problems.push(line) }),
    foldCacheBytesMax: FOLD_CACHE_BYTES,
  });
  const loops = createLoops(container, new Set(ROLES), async () => undefined);
  const evaluator = container.resolve(TOKENS.evaluator);
  const loopNamed = (name: string): Loop => {
    const loop = loops.find((candidate) => candidate.name === name);
    if (loop === undefined) throw new Error(`there is no loop ${name}`);
    return loop;
  };
  const evaluateAll = async (): Promise<number> => {
    let claimed = 0;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const found = await evaluator.runOnce();
      if (found === 0) return claimed;
      claimed += found;
    }
    throw new Error(`after ${ROUNDS_MAX} passes there is still one due`);
  };
  const runLoopOnce = async (name: string): Promise<void> => {
    const loop = loopNamed(name);
    loop.start();
    await loop.stop();
  };
  const nothingDue = async (): Promise<boolean> => {
    const { evaluation, message, timer } = await stores.engine.nextDueInMs();
    return [evaluation, message, timer].every((due) => due === undefined || due > 0);
  };
  const settle = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await evaluateAll();
      if (await nothingDue()) return;
      await runLoopOnce('deadlines');
      await runLoopOnce('relay-outbox');
    }
    throw new Error(`after ${ROUNDS_MAX} rounds there is still something due`);
  };
  return {
    useCases: container.resolve(TOKENS.useCases),
    evaluator,
    control: container.resolve(TOKENS.control),
    start: container.resolve(TOKENS.start),
    startInTransaction: container.resolve(TOKENS.startInTransaction),
    handlers: messageHandlers(container),
    values: stores.values,
    engine: stores.engine,
    blobs: stores.blobs,
    index: stores.index,
    definitions: stores.definitions,
    wake: stores.wake,
    problems,
    clock,
    startLoops: (...names) => {
      for (const loop of loops) {
        if (names.length === 0 || names.some((name) => loop.name.startsWith(name))) loop.start();
      }
    },
    stopLoops: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
    runLoopOnce,
    evaluateAll,
    settle,
    later: async (ms) => {
      clock.advance(ms);
      await settle();
    },
    close: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
      container.resolve(TOKENS.delayed).close();
      await sandbox.close();
      await stores.close();
    },
  };
};
