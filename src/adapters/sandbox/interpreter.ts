import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  type CustomizeVariantOptions,
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  RELEASE_SYNC,
} from 'quickjs-emscripten';
import { FUEL_EXPORT, meterWasm } from './meter-wasm.ts';
import {
  isWasmGlobal,
  type WasmGlobal,
  type WasmImports,
  type WasmInstance,
  type WasmMemory,
  type WasmModule,
  webAssembly,
} from './web-assembly.ts';

/** A QuickJS interpreter whose WebAssembly is metered, with the handles to its state. */
export type Interpreter = Readonly<{
  context: QuickJSContext;
  memory: WasmMemory;
  instance: WasmInstance;
  fuel: WasmGlobal;
}>;

/** What the interpreter's build asks for at least. */
const MEMORY_PAGES_INITIAL = 256;
/** The interpreter's own limit has to be met before that of the thread, whose depth depends on how far code is optimized. */
const STACK_BYTES_MAX = 192 * 1024;
/** Bytes of the C structure `tm`. */
const TM_BYTES = 44;

const wasmPath = (): string => {
  const own = createRequire(import.meta.url);
  return createRequire(own.resolve('quickjs-emscripten')).resolve('@jitl/quickjs-wasmfile-release-sync/wasm');
};

let meteredModule: WasmModule | undefined;

/** Metering and compiling take 30 ms, so a thread does it once. */
const compileMetered = (): WasmModule => {
  meteredModule ??= new webAssembly.Module(meterWasm(readFileSync(wasmPath())));
  return meteredModule;
};

const isLocalTime = (imported: unknown): boolean =>
  typeof imported === 'function' && imported.length === 2 && String(imported).includes('getTimezoneOffset');

/**
 * Scripts live in UTC: the time zone of the server is no input of theirs. The interpreter asks one imported function,
 * `localtime(time, tm)`, for it; the import is known by what it does, since the build gives imports one-letter names.
 */
const withoutTimeZone = (imports: WasmImports, memory: WasmMemory): WasmImports => {
  const localtime = (_time: bigint, tm: number): void => {
    new Uint8Array(memory.buffer).fill(0, tm, tm + TM_BYTES);
  };
  let replaced = 0;
  const replace = (imported: unknown): unknown => {
    if (!isLocalTime(imported)) return imported;
    replaced += 1;
    return localtime;
  };
  const result = Object.fromEntries(
    Object.entries(imports).map(([module, fields]) => [
      module,
      Object.fromEntries(Object.entries(fields).map(([name, imported]) => [name, replace(imported)])),
    ]),
  );
  if (replaced !== 1) throw new Error(`the QuickJS build has ${replaced} local time imports; exactly one was expected`);
  return result;
};

/**
 * Starts an interpreter of its own, about 10 ms.
 *
 * @param memoryPagesMax pages of 64 KiB its memory may grow to. The library's `setMemoryLimit` has no effect in this
 *   build, so the limit is the maximum of the WebAssembly memory.
 */
export const startInterpreter = async (memoryPagesMax: number): Promise<Interpreter> => {
  const memory = new webAssembly.Memory({ initial: MEMORY_PAGES_INITIAL, maximum: memoryPagesMax });
  let instance: WasmInstance | undefined;
  const instantiateWasm = (imports: WasmImports, done: (started: WasmInstance) => void): unknown => {
    instance = new webAssembly.Instance(compileMetered(), withoutTimeZone(imports, memory));
    done(instance);
    return instance.exports;
  };
  const silent = (): void => {};
  const emscriptenModule = { instantiateWasm, print: silent, printErr: silent };
  const options = { wasmMemory: memory, emscriptenModule } as unknown as CustomizeVariantOptions;
  const quickJs = await newQuickJSWASMModuleFromVariant(newVariant(RELEASE_SYNC, options));
  const runtime = quickJs.newRuntime();
  runtime.setMaxStackSize(STACK_BYTES_MAX);
  const fuel = instance?.exports[FUEL_EXPORT];
  if (instance === undefined || !isWasmGlobal(fuel)) throw new Error('the metered QuickJS module did not start');
  return { context: runtime.newContext(), memory, instance, fuel };
};
