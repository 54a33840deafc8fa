import { FUEL_MAX } from './meter-wasm.ts';
import type { ScriptEngineLimits } from './script-engine.ts';

/** Input and output of one INLINE, LAMBDA or jq task: as much as a payload may have. */
export const TASK_BYTES_MAX = 10 * 1024 * 1024;

/** 256 MiB for the memory of one interpreter, of scripts or of jq: JSON takes up to 16 times its size in it. */
export const TASK_MEMORY_PAGES_MAX = 4_096;

/** A thread whose interpreters have grown beyond 64 MiB is replaced after its job: WebAssembly memory never shrinks. */
export const THREAD_MEMORY_PAGES_KEPT_MAX = 1_024;

/** The time limit is what ends a script here; the fuel, 6 s of optimized code, is the second net. */
export const TASK_SCRIPT_LIMITS: ScriptEngineLimits = {
  memoryPagesMax: TASK_MEMORY_PAGES_MAX,
  fuelMax: FUEL_MAX,
  bindingsFuelMax: FUEL_MAX,
  bindingsBytesMax: TASK_BYTES_MAX,
  outputBytesMax: TASK_BYTES_MAX,
};
