import type { Scheduler } from './scheduler.ts';

type Timer = Readonly<{ at: number; run: () => void }>;

const NAMES = ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const;

/** The timers that the services set, on virtual time. */
export class VirtualTimers {
  private readonly timers = new Map<object, Timer>();
  private readonly now: () => number;
  private readonly scheduler: Scheduler;

  constructor(now: () => number, scheduler: Scheduler) {
    this.now = now;
    this.scheduler = scheduler;
  }

  /** Takes the place of the real ones until the returned function is called. */
  install(): () => void {
    const real = new Map(NAMES.map((name) => [name, globalThis[name]]));
    const set = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => this.set(() => run(...args), ms);
    const clear = (handle: object | undefined) => {
      if (handle !== undefined) this.timers.delete(handle);
    };
    const soon = (run: (...args: unknown[]) => void, ...args: unknown[]) => {
      this.scheduler.addSoon(() => run(...args));
      return {};
    };
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear, setImmediate: soon });
    Object.assign(globalThis, { clearImmediate: () => undefined, setInterval: set, clearInterval: clear });
    const realNow = performance.now;
    performance.now = this.now;
    return () => {
      performance.now = realNow;
      Object.assign(globalThis, Object.fromEntries(real));
    };
  }

  private set(run: () => void, ms: number): object {
    const handle = { unref: () => handle, ref: () => handle, hasRef: () => false };
    this.timers.set(handle, { at: this.now() + ms, run });
    return handle;
  }

  /** When the next one is due. */
  nextAt(): number | undefined {
    let next: number | undefined;
    for (const { at } of this.timers.values()) if (next === undefined || at < next) next = at;
    return next;
  }

  runDue(): void {
    const now = this.now();
    for (const [handle, { at, run }] of this.timers) {
      if (at > now) continue;
      this.timers.delete(handle);
      run();
    }
  }
}
