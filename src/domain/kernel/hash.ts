const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const UINT32_SIZE = 2 ** 32;

/** FNV-1a, 32 bits (Fowler, Noll, Vo), over the code units of a text: the low byte of each, then a high byte that is not 0. */
export const fnv1a32 = (text: string): number => {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    hash = Math.imul(hash ^ (code & 0xff), FNV_PRIME);
    if (code > 0xff) hash = Math.imul(hash ^ (code >>> 8), FNV_PRIME);
  }
  return hash >>> 0;
};

/** The finalizer of MurmurHash3 (Appleby, public domain): texts that differ in their last character land far apart. */
const mixed = (hash: number): number => {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
};

/**
 * A number in [0, 1) that depends on the text alone, evenly spread over texts. It stands in for chance where a replay
 * must draw the same number again, such as retry jitter; it protects nothing.
 */
export const unitHash = (text: string): number => mixed(fnv1a32(text)) / UINT32_SIZE;
