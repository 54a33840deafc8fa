import type { EngineStore } from '../ports/engine-store.ts';
import { queueTopic, type WakeSignal } from '../ports/wake-signal.ts';
import type { ParkedPolls } from './parked-polls.ts';

/** The backstop of all parked polls of a process: one query finds the queues that have something for any of them. */
export class WakePolls {
  private readonly engine: EngineStore;
  private readonly polls: ParkedPolls;
  private readonly wake: WakeSignal;
  private opensInMs: number | undefined;

  constructor(engine: EngineStore, polls: ParkedPolls, wake: WakeSignal) {
    this.engine = engine;
    this.polls = polls;
    this.wake = wake;
  }

  /** Always answers 0: what a woken poll finds is its own business, and a queue that a limit holds must not spin the loop. */
  async runOnce(): Promise<number> {
    this.opensInMs = undefined;
    const parked = this.polls.waitedFor();
    if (parked.length === 0) return 0;
    const ready = await this.engine.readyQueues(parked);
    const open = ready.filter(({ opensInMs }) => opensInMs === undefined);
    this.wake.publish(open.map(({ namespace, queue }) => queueTopic(namespace, queue)));
    const waits = ready.flatMap(({ opensInMs }) => opensInMs ?? []);
    this.opensInMs = waits.length === 0 ? undefined : Math.min(...waits);
    return 0;
  }

  /** Milliseconds until a limit that held a queue back may let its next task pass; undefined: none did. */
  nextInMs(): number | undefined {
    return this.opensInMs;
  }
}
