import { isJsonObject, type JsonValue } from './json.ts';

/**
 * The one text of a value: no spaces, keys in code-unit order. Equal values have equal texts, so it is what content
 * hashes are made of. The value is one that was read or checked: its depth is bounded.
 */
export const canonicalJson = (value: JsonValue): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`);
  return `{${members.join(',')}}`;
};
