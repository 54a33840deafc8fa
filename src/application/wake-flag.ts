import { firstValueFrom, fromEvent, merge, Subject, type Subscription, timer } from 'rxjs';
import { take } from 'rxjs/operators';
import type { WakeSignal, WakeTopic } from '../ports/wake-signal.ts';

/**
 * Whether any of some topics was woken since it was last cleared. Subscribed before anything is read, so that what happens
 * after the read ends the wait.
 */
export class WakeFlag {
  private readonly wake: WakeSignal;
  private readonly woken = new Subject<void>();
  private readonly subscriptions = new Map<WakeTopic, Subscription>();
  private isSet = false;

  constructor(wake: WakeSignal, topic: WakeTopic) {
    this.wake = wake;
    this.add(topic);
  }

  /** Listens to a topic more; false when it did already. */
  add(topic: WakeTopic): boolean {
    if (this.subscriptions.has(topic)) return false;
    const subscription = this.wake.on(topic).subscribe(() => {
      this.isSet = true;
      this.woken.next();
    });
    this.subscriptions.set(topic, subscription);
    return true;
  }

  clear(): void {
    this.isSet = false;
  }

  /** Resolves when a topic is woken, at once when one was, and when the time is up or the signal aborts. */
  async wait(signal: AbortSignal, ms: number): Promise<void> {
    if (this.isSet || signal.aborted) return;
    await firstValueFrom(merge(timer(ms), this.woken, fromEvent(signal, 'abort')).pipe(take(1)));
  }

  close(): void {
    for (const subscription of this.subscriptions.values()) subscription.unsubscribe();
  }
}
