import type { Chance } from '../support/chance.ts';

/** Whoever takes steps: a server of the simulated cluster. What a dead one waits for never comes. */
export type Process = {
  readonly name: string;
  isDead: boolean;
  /** Stands still while the step counter is below: a long collection of garbage, or SIGSTOP. */
  frozenUntilStep: number;
};

export const createProcess = (name: string): Process => ({ name, isDead: false, frozenUntilStep: 0 });

type Waiting = Readonly<{ process: Process; label: string; go: () => void }>;

/**
 * Decides who goes on. Everything that runs in the simulation stands at a point of this scheduler, or waits for somebody who
 * does; one point at a time is let through, and the next only when all that followed from it has come to rest.
 */
export class Scheduler {
  /** Decisions so far: who goes on, or what begins. */
  steps = 0;
  private readonly ready: Waiting[] = [];
  private readonly soon: (() => void)[] = [];
  private readonly chance: Chance;

  constructor(chance: Chance) {
    this.chance = chance;
  }

  /** Resolves when the scheduler says so; never for a process that died. */
  point(process: Process, label: string): Promise<void> {
    return new Promise((resolve) => this.add({ process, label, go: resolve }));
  }

  add(waiting: Waiting): void {
    if (!waiting.process.isDead) this.ready.push(waiting);
  }

  /** What the event loop would run next: the joins of calls that arrive together. */
  addSoon(run: () => void): void {
    this.soon.push(run);
  }

  forget(process: Process): void {
    for (let index = this.ready.length - 1; index >= 0; index -= 1) {
      if (this.ready[index]?.process === process) this.ready.splice(index, 1);
    }
  }

  get waiting(): number {
    return this.ready.length;
  }

  /** Lets one point through, drawn by chance. Its label; undefined when nobody can go on. */
  letOneThrough(): string | undefined {
    const { ready } = this;
    if (ready.length === 0) return undefined;
    const from = Math.floor(this.chance.next() * ready.length);
    for (let tried = 0; tried < ready.length; tried += 1) {
      const index = (from + tried) % ready.length;
      const next = ready[index];
      if (next === undefined || next.process.frozenUntilStep > this.steps) continue;
      const last = ready.pop();
      if (last !== undefined && last !== next) ready[index] = last;
      next.go();
      return next.label;
    }
    return undefined;
  }

  /** Waits until nothing runs any more: all promises have settled whose time has come, and all that the event loop owed. */
  async settle(): Promise<void> {
    await atRest();
    while (this.soon.length > 0) {
      const runs = this.soon.splice(0);
      for (const run of runs) run();
      await atRest();
    }
  }
}

const { nextTick } = process;

/** Node runs what is queued here only once no promise has anything left to do. */
const atRest = (): Promise<void> => new Promise((resolve) => nextTick(resolve));
