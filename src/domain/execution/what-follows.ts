import type { Sequence } from '../definition/plan.ts';
import { entriesBelow } from './entries-below.ts';
import { type Readers, readersIn } from './reads.ts';
import { type ExecutionState, ownerEntry, type TaskEntry } from './state.ts';
import { keyAt } from './task-key.ts';

/** What counts as following from a task: what ran after it in the order of the plan, and what read what it gave. */
export type FollowBy = 'control' | 'controlAndData';

export type Followers = Readonly<{
  /** The given tasks and all that follows; of one that is in it, what is below is not told again. */
  roots: ReadonlySet<TaskEntry>;
  /** By the ref of a reader: what it read, and so must not run again before. */
  read: ReadonlyMap<string, ReadonlySet<TaskEntry>>;
}>;

/** The given tasks and all that ran and follows from them. */
export const withWhatFollows = (state: ExecutionState, from: readonly TaskEntry[], by: FollowBy): Followers =>
  new Following(state, by).of(from);

/** What ran after an entry in its own sequence, up to and with the given index. */
export const laterInSequence = (
  state: ExecutionState,
  { node, path }: TaskEntry,
  last = Number.POSITIVE_INFINITY,
): readonly TaskEntry[] =>
  node.sequence.nodes
    .slice(node.index + 1, last + 1)
    .map((later) => state.tasks.get(keyAt(later.ref, path)))
    .filter((entry) => entry !== undefined);

/**
 * From when on a task can have been read: a join, which gives nothing before it is over, not before that. What it waits for
 * must not wait for it.
 */
const givenSeq = ({ node, seq, settledSeq }: TaskEntry): number =>
  node.type === 'JOIN' || node.type === 'EXCLUSIVE_JOIN' ? (settledSeq ?? Number.POSITIVE_INFINITY) : seq;

class Following {
  private readonly state: ExecutionState;
  private readonly by: FollowBy;
  private readonly found = new Set<TaskEntry>();
  private readonly readers: Readers | undefined;
  private readonly read = new Map<string, Set<TaskEntry>>();
  private readonly told = new Map<Sequence, Map<string, number>>();
  private readonly byRef = new Map<string, TaskEntry[]>();

  constructor(state: ExecutionState, by: FollowBy) {
    this.state = state;
    this.by = by;
    this.readers = by === 'control' ? undefined : readersIn(state);
    if (by === 'control') return;
    for (const entry of state.tasks.values()) {
      const ofRef = this.byRef.get(entry.node.ref);
      if (ofRef === undefined) this.byRef.set(entry.node.ref, [entry]);
      else ofRef.push(entry);
    }
  }

  of(from: readonly TaskEntry[]): Followers {
    const waiting = [...from];
    for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
      if (this.isFound(entry)) continue;
      this.found.add(entry);
      waiting.push(...this.after(entry));
      if (this.by === 'controlAndData') waiting.push(...this.readersOf(entry));
    }
    const roots = new Set([...this.found].filter((entry) => !this.isPartOfFound(entry)));
    return { roots, read: this.read };
  }

  private isFound(entry: TaskEntry): boolean {
    return this.found.has(entry) || this.isPartOfFound(entry);
  }

  private isPartOfFound(entry: TaskEntry): boolean {
    for (let at = this.ownerOf(entry); at !== undefined; at = this.ownerOf(at)) if (this.found.has(at)) return true;
    return false;
  }

  private ownerOf(entry: TaskEntry): TaskEntry | undefined {
    return ownerEntry(this.state, entry.node, entry.path);
  }

  /** What is behind it, and behind what it is part of; what was told already is not told again. */
  private after(entry: TaskEntry): readonly TaskEntry[] {
    const later: TaskEntry[] = [];
    for (let at: TaskEntry | undefined = entry; at !== undefined; at = this.ownerOf(at)) {
      const told = this.toldFrom(at);
      if (told <= at.node.index) break;
      later.push(...laterInSequence(this.state, at, told));
    }
    return later;
  }

  /** From which index on a sequence was told before; notes that it is told from behind this entry now. */
  private toldFrom({ node, path }: TaskEntry): number {
    const place = keyAt('', path);
    const told = this.told.get(node.sequence) ?? new Map<string, number>();
    const before = told.get(place) ?? Number.POSITIVE_INFINITY;
    if (node.index < before) this.told.set(node.sequence, told.set(place, node.index));
    return before;
  }

  /** Only what was entered after a task can have read what it gave. */
  private readersOf(entry: TaskEntry): readonly TaskEntry[] {
    return [entry, ...this.allBelow(entry)].flatMap((told) => {
      const readers = [...this.refsReading(told)]
        .flatMap((ref) => this.byRef.get(ref) ?? [])
        .filter((reader) => reader.seq > givenSeq(told) && !this.isPartOf(reader, entry));
      for (const { node } of readers) this.noteRead(node.ref, this.outermost(told, entry));
      return readers;
    });
  }

  private refsReading({ node }: TaskEntry): ReadonlySet<string> {
    const { readers } = this;
    if (readers === undefined) return new Set();
    const ofVariables = node.type === 'SET_VARIABLE' ? readers.ofVariables : [];
    return new Set([...readers.ofAnything, ...(readers.ofTask.get(node.ref) ?? []), ...ofVariables]);
  }

  /** A task in a loop below an entry may not come again; the loop itself does. */
  private outermost(told: TaskEntry, entry: TaskEntry): TaskEntry {
    if (entry.node.type === 'DO_WHILE') return entry;
    const loop = told.node.loops[entry.node.loops.length];
    return (loop === undefined ? undefined : this.state.tasks.get(keyAt(loop, entry.path))) ?? told;
  }

  private noteRead(ref: string, what: TaskEntry): void {
    const read = this.read.get(ref);
    if (read === undefined) this.read.set(ref, new Set([what]));
    else read.add(what);
  }

  private isPartOf(entry: TaskEntry, whole: TaskEntry): boolean {
    for (let at = this.ownerOf(entry); at !== undefined; at = this.ownerOf(at)) if (at === whole) return true;
    return false;
  }

  private allBelow(entry: TaskEntry): readonly TaskEntry[] {
    return entriesBelow(this.state, entry).flatMap((below) => [below, ...this.allBelow(below)]);
  }
}
