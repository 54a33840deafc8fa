import { type WasmImports, type WasmInstance, type WasmMemory, webAssembly } from './web-assembly.ts';

/** What one run of jq has printed. */
export type JqPrinted = Readonly<{
  reset(): void;
  /** The results, each ended by a line break. */
  results(): Buffer;
  errors(): string;
}>;

/** Thrown out of jq when it prints more results than it may. */
export class JqOutputLimitError extends Error {
  override readonly name = 'JqOutputLimitError';
}

const STDOUT = 1;
const STDERR = 2;
/** Messages beyond this, from a program with `debug` in a loop, are dropped. */
const ERRORS_BYTES_MAX = 64 * 1024;

type WriteToFile = (file: number, parts: number, partCount: number, writtenAt: number) => number;

class Sink {
  #chunks: Buffer[] = [];
  #bytes = 0;

  add(chunk: Uint8Array): number {
    this.#chunks.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
    return this.#bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  take(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  clear(): void {
    this.#chunks = [];
    this.#bytes = 0;
  }
}

const partsOf = (memory: WasmMemory, parts: number, partCount: number): readonly Uint8Array[] => {
  const view = new DataView(memory.buffer);
  return Array.from({ length: partCount }, (_, index) => {
    const at = parts + index * 8;
    return new Uint8Array(memory.buffer, view.getUint32(at, true), view.getUint32(at + 4, true));
  });
};

/**
 * Takes over what jq prints, from the moment on that its WebAssembly is instantiated. jq-web keeps it as one JavaScript
 * number a byte in an array without limit: at 20 MB such an array brings down not its thread but the whole process.
 *
 * @param resultsBytesMax jq is stopped with a `JqOutputLimitError` beyond it
 */
export const captureJqOutput = (resultsBytesMax: number): JqPrinted => {
  const results = new Sink();
  const errors = new Sink();
  let memory: WasmMemory | undefined;

  const print = (file: number, chunk: Uint8Array): void => {
    if (file === STDERR && errors.bytes >= ERRORS_BYTES_MAX) return;
    const bytes = (file === STDERR ? errors : results).add(chunk);
    if (file === STDOUT && bytes > resultsBytesMax) throw new JqOutputLimitError('jq prints too much');
  };
  const takeOver =
    (write: WriteToFile): WriteToFile =>
    (file, parts, partCount, writtenAt) => {
      if (memory === undefined || (file !== STDOUT && file !== STDERR)) return write(file, parts, partCount, writtenAt);
      const chunks = partsOf(memory, parts, partCount);
      for (const chunk of chunks) print(file, chunk);
      const written = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      new DataView(memory.buffer).setUint32(writtenAt, written, true);
      return 0;
    };

  const { instantiate } = webAssembly;
  webAssembly.instantiate = async (binary: Uint8Array, imports: WasmImports): Promise<{ instance: WasmInstance }> => {
    const system = imports.wasi_snapshot_preview1;
    if (typeof system?.fd_write !== 'function') throw new Error('the jq build prints in an unexpected way');
    const own = { ...system, fd_write: takeOver(system.fd_write as WriteToFile) };
    const started = await instantiate.call(webAssembly, binary, { ...imports, wasi_snapshot_preview1: own });
    memory = started.instance.exports.memory as WasmMemory;
    return started;
  };
  return {
    reset: () => {
      results.clear();
      errors.clear();
    },
    results: () => results.take(),
    errors: () => errors.take().toString('utf8'),
  };
};
