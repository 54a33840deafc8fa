import type { Ids } from '../../ports/ids.ts';

/** Letters and digits only, so that the parts of a key can be told apart: 71 bits, unique in practice. */
const PREFIX_CHARS = 12;
const KEY = /^(rk_[A-Za-z0-9]{12})_[A-Za-z0-9_-]{1,128}$/;

/** `key` is shown once; `prefix` finds its row again. */
export type NewApiKey = Readonly<{ key: string; prefix: string }>;

/** A new key of the form `rk_<prefix>_<secret>` from the id port's randomness. */
export const newApiKey = (ids: Ids): NewApiKey => {
  let label = '';
  while (label.length < PREFIX_CHARS) label += ids.secret().replaceAll(/[^A-Za-z0-9]/g, '');
  const prefix = `rk_${label.slice(0, PREFIX_CHARS)}`;
  return { key: `${prefix}_${ids.secret()}`, prefix };
};

/** The prefix of a well-formed key, by which its row is looked up; undefined for anything else. */
export const prefixOfApiKey = (key: string): string | undefined => KEY.exec(key)?.[1];
