import type { ExecutionId, Instant } from './brand.ts';
import { codeUnitBytes, sha256Hex } from './sha256.ts';

/** The two bits that say which variant of UUID it is, before two bits of the hash. */
const variantDigit = (digit: string): string => (8 | (Number.parseInt(digit, 16) & 3)).toString(16);

/**
 * The id of a run that a fact of another run starts: a UUIDv7 with the instant of the fact as its time and a hash of the
 * cause for the rest. Whoever carries the fact out again names the same run. Changing this would lose children.
 */
export const derivedExecutionId = (at: Instant, cause: string): ExecutionId => {
  const time = at.toString(16).padStart(12, '0');
  const hash = sha256Hex(codeUnitBytes(cause));
  const high = `7${hash.slice(0, 3)}`;
  const middle = `${variantDigit(hash[3] ?? '0')}${hash.slice(4, 7)}`;
  return `${time.slice(0, 8)}-${time.slice(8)}-${high}-${middle}-${hash.slice(7, 19)}` as ExecutionId;
};
