import type { WakeSignal } from '../../ports/wake-signal.ts';
import { HintPeer } from './hint-peer.ts';
import { WakeHub } from './wake-hub.ts';

export type WakeHints = WakeSignal &
  Readonly<{
    /** Resolves when hints of other processes arrive: at once, or after the next (re)connection. */
    whenListening(): Promise<void>;
    /** Topics that somebody of this process listens to. */
    topicCount(): number;
    close(): Promise<void>;
  }>;

export type WakeHintsOptions = Readonly<{
  url: string;
  /** False: this process neither hints nor listens; everything works by local signals and backstops. */
  notify: boolean;
  log?: (message: string) => void;
}>;

/**
 * Wakes the waiters of this process at once and hints at the other processes, a few milliseconds later and many topics at
 * a time. A lost hint is made good by the backstops of those who wait.
 */
export const createWakeHints = ({ url, notify, log }: WakeHintsOptions): WakeHints => {
  const hub = new WakeHub();
  const peer = notify ? new HintPeer(url, hub, log ?? (() => undefined)) : undefined;
  return {
    publish: (topics) => {
      const published = [...topics];
      hub.wake(published);
      peer?.hint(published);
    },
    on: (topic) => hub.on(topic),
    whenListening: async () => peer?.whenListening(),
    topicCount: () => hub.topicCount,
    close: async () => peer?.close(),
  };
};
