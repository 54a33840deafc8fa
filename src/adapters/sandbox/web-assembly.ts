/** The parts of the WebAssembly API that the sandbox uses; the compiler's libraries for Node do not declare them. */
export type WasmMemory = { readonly buffer: ArrayBuffer };
export type WasmGlobal = { value: number };
export type WasmModule = object;
export type WasmImports = Record<string, Record<string, unknown>>;
export type WasmInstance = { readonly exports: Readonly<Record<string, unknown>> };

export type WebAssemblyApi = {
  readonly Memory: {
    new (pages: { initial: number; maximum: number }): WasmMemory;
    readonly prototype: { grow(this: WasmMemory, pages: number): number };
  };
  readonly Module: new (binary: Uint8Array) => WasmModule;
  readonly Instance: new (module: WasmModule, imports: WasmImports) => WasmInstance;
  instantiate(binary: Uint8Array, imports: WasmImports): Promise<{ instance: WasmInstance }>;
  readonly RuntimeError: new (message?: string) => Error;
};

export const WASM_PAGE_BYTES = 65_536;

export const webAssembly = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;

/** Narrows an exported value to a global that holds a number. */
export const isWasmGlobal = (value: unknown): value is WasmGlobal =>
  typeof value === 'object' && value !== null && typeof (value as WasmGlobal).value === 'number';
