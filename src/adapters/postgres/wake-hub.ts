import { Observable, Subject } from 'rxjs';
import type { WakeTopic } from '../../ports/wake-signal.ts';

/** Waiters of this process by topic. A topic exists only while somebody listens to it. */
export class WakeHub {
  readonly #topics = new Map<WakeTopic, Subject<void>>();

  on(topic: WakeTopic): Observable<void> {
    return new Observable((subscriber) => {
      const subject = this.#topics.get(topic) ?? new Subject<void>();
      this.#topics.set(topic, subject);
      const subscription = subject.subscribe(subscriber);
      return () => {
        subscription.unsubscribe();
        if (!subject.observed && this.#topics.get(topic) === subject) this.#topics.delete(topic);
      };
    });
  }

  wake(topics: Iterable<WakeTopic>): void {
    for (const topic of topics) this.#topics.get(topic)?.next();
  }

  wakeAll(): void {
    for (const subject of [...this.#topics.values()]) subject.next();
  }

  get topicCount(): number {
    return this.#topics.size;
  }
}
