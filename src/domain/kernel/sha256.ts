const WORD = 2 ** 32;
const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;

const PRIMES: readonly number[] = (() => {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < 64; candidate += 1) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
})();

const fraction = (value: number): number => Math.floor((value - Math.floor(value)) * WORD) | 0;
/** FIPS 180-4: fractions of the cube roots of the first 64 primes, and of the square roots of the first 8. */
const ROUND_CONSTANTS = PRIMES.map((prime) => fraction(prime ** (1 / 3)));
const INITIAL = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

const padded = (bytes: Uint8Array): DataView => {
  const length = Math.ceil((bytes.length + 1 + LENGTH_BYTES) / BLOCK_BYTES) * BLOCK_BYTES;
  const block = new Uint8Array(length);
  block.set(bytes);
  block[bytes.length] = 0x80;
  const view = new DataView(block.buffer);
  view.setUint32(length - 8, Math.floor((bytes.length * 8) / WORD));
  view.setUint32(length - 4, (bytes.length * 8) % WORD);
  return view;
};

const schedule = (view: DataView, offset: number): Int32Array => {
  const words = new Int32Array(64);
  const at = (index: number): number => words[index] ?? 0;
  for (let index = 0; index < 16; index += 1) words[index] = view.getInt32(offset + index * 4);
  for (let index = 16; index < 64; index += 1) {
    const [early, late] = [at(index - 15), at(index - 2)];
    const first = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const second = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    words[index] = at(index - 16) + first + at(index - 7) + second;
  }
  return words;
};

type State = readonly [number, number, number, number, number, number, number, number];

const compress = (state: State, words: Int32Array): State => {
  let [a, b, c, d, e, f, g, h] = state;
  for (let round = 0; round < 64; round += 1) {
    const sumE = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const first = (h + sumE + ((e & f) ^ (~e & g)) + (ROUND_CONSTANTS[round] ?? 0) + (words[round] ?? 0)) | 0;
    const sumA = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const second = (sumA + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  const [a0, b0, c0, d0, e0, f0, g0, h0] = state;
  return [a0 + a, b0 + b, c0 + c, d0 + d, e0 + e, f0 + f, g0 + g, h0 + h].map((word) => word | 0) as unknown as State;
};

/**
 * SHA-256 (FIPS 180-4) as 64 hexadecimal digits. The domain has no library for it: it derives ids that nobody may be able
 * to make collide, and must derive the same ones for ever.
 */
export const sha256Hex = (bytes: Uint8Array): string => {
  const view = padded(bytes);
  let state = INITIAL as unknown as State;
  for (let offset = 0; offset < view.byteLength; offset += BLOCK_BYTES) state = compress(state, schedule(view, offset));
  return state.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
};

/** The code units of a text, two bytes each. */
export const codeUnitBytes = (text: string): Uint8Array => {
  const bytes = new Uint8Array(text.length * 2);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    bytes[at * 2] = code >>> 8;
    bytes[at * 2 + 1] = code & 0xff;
  }
  return bytes;
};
