import { Observable, Subject } from 'rxjs';
import type { WakeSignal, WakeTopic } from '../../ports/wake-signal.ts';

/** Wakes the waiters of this process; a topic costs nothing once its last waiter has left. */
export const createWakeSignal = (): WakeSignal & Readonly<{ close(): void }> => {
  const subjects = new Map<WakeTopic, Subject<void>>();

  const leave = (topic: WakeTopic, subject: Subject<void>): void => {
    if (!subject.observed && subjects.get(topic) === subject) subjects.delete(topic);
  };

  return {
    publish: (topics) => {
      for (const topic of new Set(topics)) subjects.get(topic)?.next();
    },
    on: (topic) =>
      new Observable<void>((waiter) => {
        const subject = subjects.get(topic) ?? new Subject<void>();
        subjects.set(topic, subject);
        const subscription = subject.subscribe(waiter);
        return () => {
          subscription.unsubscribe();
          leave(topic, subject);
        };
      }),
    close: () => {
      for (const subject of [...subjects.values()]) subject.complete();
      subjects.clear();
    },
  };
};
