import { describe, expect, it } from 'vitest';
import { FUEL_EXPORT, FUEL_MAX, meterWasm, STATE_EXPORT_PREFIX } from '../../../src/adapters/sandbox/meter-wasm.ts';
import { isWasmGlobal, type WasmGlobal, webAssembly } from '../../../src/adapters/sandbox/web-assembly.ts';

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const section = (id: number, ...bytes: number[]): number[] => [id, bytes.length, ...bytes];
const text = (value: string): number[] => [value.length, ...Buffer.from(value, 'ascii')];
const I32 = 0x7f;

const COUNT_DOWN = [0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b];
const FILL = [0x41, 0, 0x41, 7, 0x20, 0, 0xfc, 11, 0];

/** A module with one mutable global and one function `run(n: i32)`. */
const moduleWith = (body: readonly number[]): Uint8Array =>
  Uint8Array.from([
    ...MAGIC,
    ...section(1, 1, 0x60, 1, I32, 0),
    ...section(2, 1, ...text('m'), ...text('memory'), 2, 0, 1),
    ...section(3, 1, 0),
    ...section(6, 1, I32, 1, 0x41, 42, 0x0b),
    ...section(7, 1, ...text('run'), 0, 0),
    ...section(10, 1, body.length + 2, 0, ...body, 0x0b),
  ]);

const start = (body: readonly number[]): { run: (n: number) => void; fuel: WasmGlobal; state: unknown } => {
  const memory = new webAssembly.Memory({ initial: 1, maximum: 1 });
  const module = new webAssembly.Module(meterWasm(moduleWith(body)));
  const { exports } = new webAssembly.Instance(module, { m: { memory } });
  const fuel = exports[FUEL_EXPORT];
  if (!isWasmGlobal(fuel)) throw new Error('no fuel is exported');
  return { run: exports.run as (n: number) => void, fuel, state: exports[`${STATE_EXPORT_PREFIX}0`] };
};

describe('metering', () => {
  it('takes one unit for each turn of a loop', () => {
    const { run, fuel } = start(COUNT_DOWN);
    run(1_000);
    expect(FUEL_MAX - fuel.value).toBe(1_000);
  });

  it('takes one unit for 64 bytes filled in bulk', () => {
    const { run, fuel } = start(FILL);
    run(6_400);
    expect(FUEL_MAX - fuel.value).toBe(100);
  });

  it('lets work that uses up the fuel exactly pass, and stops one turn more', () => {
    const { run, fuel } = start(COUNT_DOWN);
    fuel.value = 10;
    run(10);
    fuel.value = 9;
    expect(() => run(10)).toThrow(webAssembly.RuntimeError);
  });

  it('exports the mutable globals of the module', () => {
    expect(start(COUNT_DOWN).state).toMatchObject({ value: 42 });
  });

  it('refuses an instruction it does not know instead of guessing its length', () => {
    expect(() => meterWasm(moduleWith([0x06]))).toThrow('unknown WebAssembly instruction 0x6');
  });
});
