import { encodeU32, readByte, readU32, skipImmediates, skipLeb, type WasmReader } from './wasm-reader.ts';

/** The exported global that holds the fuel left: an i32, taken down by the code itself; below zero the code traps. */
export const FUEL_EXPORT = 'fuel';
/** The exported globals of the module itself are called this plus their index. */
export const STATE_EXPORT_PREFIX = 'state';

/** The most that the fuel can be set to, and what a new instance starts with. */
export const FUEL_MAX = 2 ** 31 - 1;
const FUEL_MAX_LEB = [0xff, 0xff, 0xff, 0xff, 0x07];

const SECTION = { type: 1, import: 2, function: 3, global: 6, export: 7, code: 10 } as const;
const OP = { loop: 0x03, prefixed: 0xfc, memoryCopy: 10, memoryFill: 11 } as const;
const I32 = 0x7f;
const EXPORT_GLOBAL = 3;
const MUTABLE = 1;
/** Bulk copies and fills cost one unit for 64 bytes: about what one turn of a loop costs in time. */
const BULK_SHIFT_BITS = 6;

type Section = Readonly<{ id: number; bytes: Uint8Array }>;
type Counts = Readonly<{ types: number; functions: number; mutableGlobals: readonly number[]; globals: number }>;

const HEADER_BYTES = 8;

const readSections = (binary: Uint8Array): readonly Section[] => {
  const reader: WasmReader = { bytes: binary, at: HEADER_BYTES };
  const sections: Section[] = [];
  while (reader.at < binary.length) {
    const id = readByte(reader);
    const size = readU32(reader);
    sections.push({ id, bytes: binary.subarray(reader.at, reader.at + size) });
    reader.at += size;
  }
  return sections;
};

const readerOf = (sections: readonly Section[], id: number): WasmReader => {
  const section = sections.find((candidate) => candidate.id === id);
  if (section === undefined) throw new RangeError(`the WebAssembly binary has no section ${id}`);
  return { bytes: section.bytes, at: 0 };
};

const skipLimits = (reader: WasmReader): void => {
  const hasMaximum = (readByte(reader) & 1) === 1;
  skipLeb(reader);
  if (hasMaximum) skipLeb(reader);
};

const skipName = (reader: WasmReader): void => {
  const length = readU32(reader);
  reader.at += length;
};

/** Imported functions come first in the index space, so their number is needed to name a new function. */
const countImportedFunctions = (sections: readonly Section[]): number => {
  const reader = readerOf(sections, SECTION.import);
  let functions = 0;
  for (let left = readU32(reader); left > 0; left -= 1) {
    skipName(reader);
    skipName(reader);
    const kind = readByte(reader);
    if (kind === 0) {
      skipLeb(reader);
      functions += 1;
    } else if (kind === 2) skipLimits(reader);
    else throw new RangeError(`unexpected kind of import: ${kind}`);
  }
  return functions;
};

const readGlobals = (sections: readonly Section[]): Pick<Counts, 'globals' | 'mutableGlobals'> => {
  const reader = readerOf(sections, SECTION.global);
  const globals = readU32(reader);
  const mutableGlobals: number[] = [];
  for (let index = 0; index < globals; index += 1) {
    reader.at += 1;
    if (readByte(reader) === MUTABLE) mutableGlobals.push(index);
    for (let opcode = readByte(reader); opcode !== 0x0b; opcode = readByte(reader)) skipImmediates(reader, opcode);
  }
  return { globals, mutableGlobals };
};

const countsOf = (sections: readonly Section[]): Counts => ({
  types: readU32(readerOf(sections, SECTION.type)),
  functions: countImportedFunctions(sections) + readU32(readerOf(sections, SECTION.function)),
  ...readGlobals(sections),
});

/** A vector section with entries added at its end, where they shift no existing index. */
const appendTo = (section: Section, entries: readonly (readonly number[])[]): Uint8Array => {
  const reader: WasmReader = { bytes: section.bytes, at: 0 };
  const count = readU32(reader) + entries.length;
  return Uint8Array.from([...encodeU32(count), ...section.bytes.subarray(reader.at), ...entries.flat()]);
};

const spend = (fuelGlobal: number, amount: readonly number[]): readonly number[] => {
  const fuel = encodeU32(fuelGlobal);
  // fuel = fuel - amount; if (fuel < 0) trap
  return [0x23, ...fuel, ...amount, 0x6b, 0x24, ...fuel, 0x23, ...fuel, 0x41, 0, 0x48, 0x04, 0x40, 0x00, 0x0b];
};

/** `(bytes: i32) => bytes`: pays for a bulk instruction that moves so many bytes and hands the operand through. */
const bulkChargeBody = (fuelGlobal: number): readonly number[] => {
  const amount = [0x20, 0, 0x41, BULK_SHIFT_BITS, 0x76];
  const body = [0, ...spend(fuelGlobal, amount), 0x20, 0, 0x0b];
  return [...encodeU32(body.length), ...body];
};

const isBulk = (reader: WasmReader, opcode: number): boolean => {
  const sub = reader.bytes[reader.at];
  return opcode === OP.prefixed && (sub === OP.memoryCopy || sub === OP.memoryFill);
};

/** Copies one function body with a payment at the head of each loop and before each bulk instruction. */
const meterBody = (body: Uint8Array, loopCharge: readonly number[], bulkCharge: readonly number[]): Uint8Array[] => {
  const reader: WasmReader = { bytes: body, at: 0 };
  for (let groups = readU32(reader); groups > 0; groups -= 1) {
    skipLeb(reader);
    reader.at += 1;
  }
  const parts: Uint8Array[] = [];
  let copiedTo = 0;
  const insertAt = (at: number, code: readonly number[]): void => {
    parts.push(body.subarray(copiedTo, at), Uint8Array.from(code));
    copiedTo = at;
  };
  while (reader.at < body.length) {
    const opcodeAt = reader.at;
    const opcode = readByte(reader);
    if (isBulk(reader, opcode)) insertAt(opcodeAt, bulkCharge);
    skipImmediates(reader, opcode);
    if (opcode === OP.loop) insertAt(reader.at, loopCharge);
  }
  return [...parts, body.subarray(copiedTo)];
};

const meterCode = (section: Section, counts: Counts): Uint8Array => {
  const loopCharge = spend(counts.globals, [0x41, 1]);
  const bulkCharge = [0x10, ...encodeU32(counts.functions)];
  const reader: WasmReader = { bytes: section.bytes, at: 0 };
  const bodies = readU32(reader);
  const chunks: Uint8Array[] = [Uint8Array.from(encodeU32(bodies + 1))];
  for (let index = 0; index < bodies; index += 1) {
    const size = readU32(reader);
    const metered = meterBody(section.bytes.subarray(reader.at, reader.at + size), loopCharge, bulkCharge);
    const meteredBytes = metered.reduce((sum, part) => sum + part.length, 0);
    chunks.push(Uint8Array.from(encodeU32(meteredBytes)), ...metered);
    reader.at += size;
  }
  return Buffer.concat([...chunks, Uint8Array.from(bulkChargeBody(counts.globals))]);
};

const exportOfGlobal = (name: string, index: number): readonly number[] => [
  ...encodeU32(name.length),
  ...Buffer.from(name, 'ascii'),
  EXPORT_GLOBAL,
  ...encodeU32(index),
];

const meterSection = (section: Section, counts: Counts): Uint8Array => {
  switch (section.id) {
    case SECTION.type:
      return appendTo(section, [[0x60, 1, I32, 1, I32]]);
    case SECTION.function:
      return appendTo(section, [encodeU32(counts.types)]);
    case SECTION.global:
      return appendTo(section, [[I32, MUTABLE, 0x41, ...FUEL_MAX_LEB, 0x0b]]);
    case SECTION.export:
      return appendTo(section, [
        exportOfGlobal(FUEL_EXPORT, counts.globals),
        ...counts.mutableGlobals.map((index) => exportOfGlobal(`${STATE_EXPORT_PREFIX}${index}`, index)),
      ]);
    case SECTION.code:
      return meterCode(section, counts);
    default:
      return section.bytes;
  }
};

/**
 * Rewrites a WebAssembly binary so that it pays for its work: one unit of fuel per turn of any loop and per 64 bytes
 * moved in bulk, and a trap when the fuel is used up. A time limit checked by an interrupt callback is not enough: the
 * interpreter asks it only every 10,000 jumps of the script and never inside its native functions, so that
 * `Array.prototype.map.call({ length: 2 ** 53 - 1 }, f)` or a search of a long text in a longer one hold the thread for
 * hours. Fuel also makes the limit a function of script and input, the same on every machine and under any load.
 * Exports the fuel as `FUEL_EXPORT` and every mutable global of the module as `STATE_EXPORT_PREFIX` + index.
 */
export const meterWasm = (binary: Uint8Array): Uint8Array => {
  const sections = readSections(binary);
  const counts = countsOf(sections);
  const chunks = sections.flatMap((section) => {
    const bytes = meterSection(section, counts);
    return [Uint8Array.from([section.id, ...encodeU32(bytes.length)]), bytes];
  });
  return Buffer.concat([binary.subarray(0, HEADER_BYTES), ...chunks]);
};
