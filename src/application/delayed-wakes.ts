import type { Instant } from '../domain/kernel/brand.ts';
import type { WakeSignal, WakeTopic } from '../ports/wake-signal.ts';

/** Wakes held in memory at a time; what goes beyond is left to the backstop. */
const DELAYED_MAX = 50_000;
/** Longer delays are left to the backstop too: a timer in memory is only a hint. */
const DELAY_MS_MAX = 3_600_000;

/** Wakes pollers when a task becomes visible later. A hint only: the backstop finds what a restart forgot. */
export class DelayedWakes {
  private readonly wake: WakeSignal;
  private readonly pending = new Set<NodeJS.Timeout>();

  constructor(wake: WakeSignal) {
    this.wake = wake;
  }

  schedule(later: readonly Readonly<{ topic: WakeTopic; at: Instant }>[], now: Instant): void {
    for (const { topic, at } of later) {
      const delayMs = at - now;
      if (this.pending.size >= DELAYED_MAX || delayMs > DELAY_MS_MAX) continue;
      const timer = setTimeout(() => {
        this.pending.delete(timer);
        this.wake.publish([topic]);
      }, delayMs + 1);
      timer.unref();
      this.pending.add(timer);
    }
  }

  close(): void {
    for (const timer of this.pending) clearTimeout(timer);
    this.pending.clear();
  }
}
