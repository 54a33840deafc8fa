import { STATE_EXPORT_PREFIX } from './meter-wasm.ts';
import { isWasmGlobal, WASM_PAGE_BYTES, type WasmGlobal, type WasmInstance, type WasmMemory } from './web-assembly.ts';

/** A moment of a WebAssembly instance that can be returned to. */
export type MemoryImage = Readonly<{
  /** Puts memory and globals back. What ran since is gone without a trace, however it ended. */
  restore(): void;
  /** How much one restore copies. */
  imageBytes: number;
}>;

type Extent = Readonly<{ start: number; bytes: Uint8Array }>;

/** Zeroed static data ends where the untouched stack begins; this much of what looks like stack is saved with it. */
const STATIC_DATA_MARGIN_BYTES = WASM_PAGE_BYTES;

const longestZeroRun = (bytes: Uint8Array, end: number): { start: number; end: number } => {
  let longest = { start: 0, end: 0 };
  let start = 0;
  for (let at = 0; at <= end; at += 1) {
    if (at < end && bytes[at] === 0) continue;
    if (at - start > longest.end - longest.start) longest = { start, end: at };
    start = at + 1;
  }
  return longest;
};

const usedBytes = (bytes: Uint8Array): number => {
  let last = bytes.length - 1;
  while (last >= 0 && bytes[last] === 0) last -= 1;
  return Math.min(bytes.length, (Math.floor(last / WASM_PAGE_BYTES) + 2) * WASM_PAGE_BYTES);
};

/**
 * All that can matter later: static data and heap. Left out is the part of the stack that was never used, megabytes of
 * it: nothing reads below the stack pointer what it has not written before. Above the used heap the allocator
 * assumes nothing about the bytes.
 */
const extentsOf = (bytes: Uint8Array, stackPointer: number): readonly Extent[] => {
  const end = usedBytes(bytes);
  const unused = longestZeroRun(bytes, stackPointer);
  const dataEnd = unused.start + STATIC_DATA_MARGIN_BYTES;
  const ranges =
    dataEnd < unused.end
      ? [
          [0, dataEnd],
          [unused.end, end],
        ]
      : [[0, end]];
  return ranges.map(([start = 0, stop]) => ({ start, bytes: bytes.slice(start, stop) }));
};

const globalsOf = (instance: WasmInstance): readonly (readonly [WasmGlobal, number])[] =>
  Object.entries(instance.exports).flatMap(([name, value]) =>
    name.startsWith(STATE_EXPORT_PREFIX) && isWasmGlobal(value) ? [[value, value.value] as const] : [],
  );

/**
 * Remembers an instance as it is now: its memory and its mutable globals, which is all the state an instance has.
 *
 * @param memory the memory of the instance
 * @param instance an instance of a metered module whose first mutable global is the stack pointer
 */
export const captureImage = (memory: WasmMemory, instance: WasmInstance): MemoryImage => {
  const globals = globalsOf(instance);
  const stackPointer = globals[0]?.[1] ?? 0;
  const extents = extentsOf(new Uint8Array(memory.buffer), stackPointer);
  return {
    restore: () => {
      // The buffer is another one after the memory has grown.
      const bytes = new Uint8Array(memory.buffer);
      for (const extent of extents) bytes.set(extent.bytes, extent.start);
      for (const [global, value] of globals) global.value = value;
    },
    imageBytes: extents.reduce((sum, extent) => sum + extent.bytes.length, 0),
  };
};
