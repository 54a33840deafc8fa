import { parentPort } from 'node:worker_threads';
import { type Jq, loadJq, runJqProgram } from './jq.ts';
import { ScriptEngine } from './script-engine.ts';
import { TASK_MEMORY_PAGES_MAX, TASK_SCRIPT_LIMITS, THREAD_MEMORY_PAGES_KEPT_MAX } from './task-limits.ts';
import type { TaskJob, TaskReply } from './task-protocol.ts';
import { WASM_PAGE_BYTES, type WasmMemory, webAssembly } from './web-assembly.ts';

let pagesLargest = 0;

/**
 * jq brings its memory along, with a maximum of 2 GiB. All growth goes through this method, where a refusal is what the
 * allocator inside sees as "no more memory". The thread limits of Node do not count WebAssembly memory.
 */
const limitMemoryGrowth = (): void => {
  const grow = webAssembly.Memory.prototype.grow;
  webAssembly.Memory.prototype.grow = function limitedGrow(this: WasmMemory, pages: number): number {
    const pagesWanted = this.buffer.byteLength / WASM_PAGE_BYTES + pages;
    if (pagesWanted > TASK_MEMORY_PAGES_MAX) throw new RangeError('the memory limit of the sandbox is reached');
    pagesLargest = Math.max(pagesLargest, pagesWanted);
    return grow.call(this, pages);
  };
};

let startedEngine: Promise<ScriptEngine> | undefined;
let loadedJq: Promise<Jq> | undefined;

const engine = (): Promise<ScriptEngine> => {
  startedEngine ??= ScriptEngine.start(TASK_SCRIPT_LIMITS);
  return startedEngine;
};

const jq = (): Promise<Jq> => {
  loadedJq ??= loadJq();
  return loadedJq;
};

const reply = (message: TaskReply): void => parentPort?.postMessage(message);

const isGrown = (): boolean => pagesLargest > THREAD_MEMORY_PAGES_KEPT_MAX;

const perform = async (job: TaskJob): Promise<void> => {
  if (job.kind === 'script') {
    const scripts = await engine();
    reply({ kind: 'started' });
    const result = scripts.run(job.source, job.bindingsJson, job.wrap, { nowMs: job.nowMs, seed: job.seed });
    reply({ kind: 'done', result, isSpent: isGrown() });
    return;
  }
  const loaded = await jq();
  reply({ kind: 'started' });
  const { result, isBroken } = runJqProgram(loaded, job.query, job.inputJson);
  reply({ kind: 'done', result, isSpent: isBroken || isGrown() });
};

limitMemoryGrowth();
// The last words of an interpreter that runs out of memory come out here, beside the error it throws.
console.error = () => {};
// jq programs can read the name of the running program in `env`; the path of this file is none of their business.
process.argv[1] = 'jq';
// A rejection is not handled on purpose: it ends the thread, and the pool hears of it.
parentPort?.on('message', perform);
