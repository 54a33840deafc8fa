/** A cursor over the bytes of a WebAssembly binary (core specification, chapter 5). */
export type WasmReader = {
  readonly bytes: Uint8Array;
  at: number;
};

export const readByte = (reader: WasmReader): number => {
  const byte = reader.bytes[reader.at];
  if (byte === undefined) throw new RangeError('the WebAssembly binary ends too early');
  reader.at += 1;
  return byte;
};

/** Reads an unsigned LEB128 number of at most 32 bits. */
export const readU32 = (reader: WasmReader): number => {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = readByte(reader);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value >>> 0;
  }
};

/** Steps over a LEB128 number of any width, signed or not. */
export const skipLeb = (reader: WasmReader): void => {
  while (readByte(reader) >= 0x80);
};

/** The unsigned LEB128 encoding of a number below 2^32. */
export const encodeU32 = (value: number): readonly number[] => {
  const bytes: number[] = [];
  for (let rest = value >>> 0; ; ) {
    const low = rest & 0x7f;
    rest >>>= 7;
    bytes.push(rest === 0 ? low : low | 0x80);
    if (rest === 0) return bytes;
  }
};

const skipLebs = (reader: WasmReader, count: number): void => {
  for (let index = 0; index < count; index += 1) skipLeb(reader);
};

const LEBS_AFTER_PREFIXED: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

const lebsAfterPrefixed = (reader: WasmReader): number => {
  const lebs = LEBS_AFTER_PREFIXED[readU32(reader)];
  if (lebs === undefined) throw new RangeError('unknown prefixed WebAssembly instruction');
  return lebs;
};

/** `f32.const` and `f64.const`. */
const LITERAL_BYTES: ReadonlyMap<number, number> = new Map([
  [0x43, 4],
  [0x44, 8],
]);

const isPlain = (opcode: number): boolean =>
  opcode <= 0x01 ||
  opcode === 0x05 ||
  opcode === 0x0b ||
  opcode === 0x0f ||
  opcode === 0x1a ||
  opcode === 0x1b ||
  (opcode >= 0x45 && opcode <= 0xc4) ||
  opcode === 0xd1;

const hasOneLeb = (opcode: number): boolean =>
  (opcode >= 0x02 && opcode <= 0x04) ||
  opcode === 0x0c ||
  opcode === 0x0d ||
  opcode === 0x10 ||
  (opcode >= 0x20 && opcode <= 0x26) ||
  (opcode >= 0x3f && opcode <= 0x42) ||
  opcode === 0xd0 ||
  opcode === 0xd2;

const lebsAfter = (reader: WasmReader, opcode: number): number => {
  if (isPlain(opcode)) return 0;
  if (hasOneLeb(opcode)) return 1;
  if (opcode === 0x11 || (opcode >= 0x28 && opcode <= 0x3e)) return 2;
  if (opcode === 0x0e) return readU32(reader) + 1;
  if (opcode === 0x1c) return readU32(reader);
  if (opcode === 0xfc) return lebsAfterPrefixed(reader);
  throw new RangeError(`unknown WebAssembly instruction 0x${opcode.toString(16)}`);
};

/** Steps over what follows an opcode. Throws for an instruction it does not know: guessing would misplace every later byte. */
export const skipImmediates = (reader: WasmReader, opcode: number): void => {
  const literalBytes = LITERAL_BYTES.get(opcode);
  if (literalBytes !== undefined) reader.at += literalBytes;
  else skipLebs(reader, lebsAfter(reader, opcode));
};
