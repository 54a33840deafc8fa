/** How far apart those stand who line up, in microseconds. */
const TURN_STEP_MICROSECONDS = 100;
/** Tasks of one definition, and of one run, that may come at once before they line up one behind the other. */
const BURST_TASKS = 100;
/** A queue in which somebody stands in line for as long as this is flooded: from 1,000 tasks on. */
const FLOOD_MICROSECONDS = 1_000 * TURN_STEP_MICROSECONDS;
const MICROSECONDS_PER_MS = 1_000;
/** Lines, each a queue at one priority, and definitions and runs of one line, that are remembered: beyond, all begin anew. */
const LINES_MAX = 10_000;
const REMEMBERED_MAX = 100_000;

type Line = {
  /** How far the queue has come. */
  served: number;
  /** The last turn of those who stand in a long line; the queue is flooded until it has come there. */
  floodEnd: number;
  /** The end of the line of each definition, for tasks of the server of each namespace, and of each run. */
  readonly flows: Map<string, number>;
  readonly runs: Map<string, number>;
};

export type TurnRequest = Readonly<{
  /** The queue at one priority: turns are compared within it alone. */
  line: string;
  /** Who shares the queue: a definition, for tasks of the server a namespace. */
  flow: string;
  run: string;
  scheduledAt: number;
}>;

/**
 * Gives each task of a queue its turn, so that who floods the queue holds up himself alone. A task's turn is its time, and
 * the queue is first come, first served, as long as nobody brings many tasks at once. Who does stands in line behind himself,
 * and while such a line waits, the tasks of others go before it: right behind what is being served. Turns only order: nothing
 * but who goes first depends on them.
 */
export class FairTurns {
  private readonly lines = new Map<string, Line>();

  /** In microseconds. */
  turnOf({ line: name, flow, run, scheduledAt }: TurnRequest): number {
    const line = this.lineOf(name);
    const time = scheduledAt * MICROSECONDS_PER_MS;
    // Whoever comes first into an empty queue is its head.
    if (line.served === 0) line.served = time - 1;
    const base = line.served < line.floodEnd ? Math.min(time, line.served) : time;
    // A run that floods stands behind itself, and the others of its definition do not stand behind it.
    const lag = lineUp(line.runs, run, base) || lineUp(line.flows, flow, base);
    const turn = base + lag;
    if (lag >= FLOOD_MICROSECONDS) line.floodEnd = Math.max(line.floodEnd, turn);
    return turn;
  }

  /** The queue has come to this turn. It never goes back: a task that is given back is an exception, not the queue. */
  serve(name: string, turn: number): void {
    const line = this.lineOf(name);
    line.served = Math.max(line.served, turn);
  }

  /** What somebody else's view of the queue tells: the first turn in it, and the last with how long that stands in line. */
  see(name: string, head: number, last: Readonly<{ turn: number; scheduledAt: number }>): void {
    this.serve(name, head - 1);
    const line = this.lineOf(name);
    const lag = last.turn - last.scheduledAt * MICROSECONDS_PER_MS;
    if (lag >= FLOOD_MICROSECONDS) line.floodEnd = Math.max(line.floodEnd, last.turn);
  }

  /** Nothing waits in the queue: nobody stands in line any more. */
  empty(name: string): void {
    this.lines.delete(name);
  }

  private lineOf(name: string): Line {
    const known = this.lines.get(name);
    if (known !== undefined) return known;
    if (this.lines.size >= LINES_MAX) this.lines.clear();
    const line: Line = { served: 0, floodEnd: 0, flows: new Map(), runs: new Map() };
    this.lines.set(name, line);
    return line;
  }
}

/** Adds one task to a line; returns how far behind `base` it stands, 0 for those that come within the burst. */
const lineUp = (ends: Map<string, number>, key: string, base: number): number => {
  const end = Math.max(ends.get(key) ?? 0, base) + TURN_STEP_MICROSECONDS;
  if (ends.size >= REMEMBERED_MAX && !ends.has(key)) ends.clear();
  ends.set(key, end);
  return Math.max(0, end - base - BURST_TASKS * TURN_STEP_MICROSECONDS);
};
