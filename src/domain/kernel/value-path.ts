const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;

/** Keys longer than this are cut where they are shown: a path is for a person to read. */
const KEY_CHARS_MAX = 100;

/**
 * The path of one entry inside a value, as problems name it: `tasks[2].inputParameters["a b"]`.
 * The path of the value itself may be "".
 */
export const childPath = (path: string, key: string | number): string => {
  if (typeof key === 'number') return `${path}[${key}]`;
  const shown = key.length > KEY_CHARS_MAX ? `${key.slice(0, KEY_CHARS_MAX)}…` : key;
  if (!PLAIN_KEY.test(shown)) return `${path}[${JSON.stringify(shown)}]`;
  return path === '' ? shown : `${path}.${shown}`;
};
