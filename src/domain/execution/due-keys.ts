import type { TaskKey } from './task-key.ts';

type DueKey = Readonly<{ seq: number; key: TaskKey }>;

/**
 * Keys to look at, a heap: the one whose task was opened first comes first, whatever the order they were added in. So the
 * next fact follows from the run alone, and a pass that folded the whole log chooses like the one that only saw its end.
 */
export type DueKeys = Readonly<{ heap: DueKey[]; seqs: Map<TaskKey, number> }>;

export const newDueKeys = (): DueKeys => ({ heap: [], seqs: new Map() });

export const copyDueKeys = (due: DueKeys): DueKeys => ({ heap: [...due.heap], seqs: new Map(due.seqs) });

export const clearDueKeys = (due: DueKeys): void => {
  due.heap.length = 0;
  due.seqs.clear();
};

/** Adds a key by the seq of the event that opened its task; a key that was there under another seq moves. */
export const addDueKey = (due: DueKeys, key: TaskKey, seq: number): void => {
  if (due.seqs.get(key) === seq) return;
  due.seqs.set(key, seq);
  due.heap.push({ seq, key });
  rise(due.heap, due.heap.length - 1);
};

export const dropDueKey = (due: DueKeys, key: TaskKey): void => {
  due.seqs.delete(key);
};

/** Takes the first key off; undefined when nothing is due. */
export const takeDueKey = (due: DueKeys): TaskKey | undefined => {
  for (let first = pop(due.heap); first !== undefined; first = pop(due.heap)) {
    // What was dropped or moved is still in the heap, under a seq that no longer holds.
    if (due.seqs.get(first.key) !== first.seq) continue;
    due.seqs.delete(first.key);
    return first.key;
  }
  return undefined;
};

/** The first key that is still due, which stays; what was dropped or moved before it goes. */
const firstDue = (due: DueKeys): DueKey | undefined => {
  for (let first = due.heap[0]; first !== undefined; first = due.heap[0]) {
    if (due.seqs.get(first.key) === first.seq) return first;
    pop(due.heap);
  }
  return undefined;
};

/** Takes the first key of both. */
export const takeFirstDueKey = (a: DueKeys, b: DueKeys): TaskKey | undefined => {
  const [first, second] = [firstDue(a), firstDue(b)];
  const isSecond = second !== undefined && (first === undefined || isBefore(second, first));
  return takeDueKey(isSecond ? b : a);
};

const isBefore = (a: DueKey, b: DueKey): boolean => a.seq < b.seq || (a.seq === b.seq && a.key < b.key);

const swap = (heap: DueKey[], a: number, b: number): void => {
  const [first, second] = [heap[a], heap[b]];
  if (first === undefined || second === undefined) return;
  heap[a] = second;
  heap[b] = first;
};

const rise = (heap: DueKey[], from: number): void => {
  for (let at = from; at > 0; ) {
    const parent = (at - 1) >> 1;
    if (!isBeforeAt(heap, at, parent)) return;
    swap(heap, at, parent);
    at = parent;
  }
};

const isBeforeAt = (heap: readonly DueKey[], a: number, b: number): boolean => {
  const [first, second] = [heap[a], heap[b]];
  return first !== undefined && second !== undefined && isBefore(first, second);
};

const pop = (heap: DueKey[]): DueKey | undefined => {
  swap(heap, 0, heap.length - 1);
  const first = heap.pop();
  for (let at = 0; ; ) {
    const left = 2 * at + 1;
    const least = isBeforeAt(heap, left + 1, left) ? left + 1 : left;
    if (!isBeforeAt(heap, least, at)) return first;
    swap(heap, at, least);
    at = least;
  }
};
