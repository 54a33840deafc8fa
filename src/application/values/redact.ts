import type { JsonObject, JsonValue } from '../../domain/kernel/json.ts';

/** A shorter text would be found in everything. */
export const REDACTED_CHARS_MIN = 4;
const MASK = '***';

/** The forms in which a host may say a secret back to us. */
const formsOf = (secret: string): readonly string[] => [
  secret,
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
];

const cleaned = (value: JsonValue, forms: readonly string[]): JsonValue => {
  if (typeof value === 'string') return forms.reduce((text, form) => text.replaceAll(form, MASK), value);
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => cleaned(item, forms));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [cleaned(key, forms) as string, cleaned(inner, forms)]),
  );
};

/** What a task of the server gives, without the secrets that it was given: an answer may well repeat the question. */
export const redacted = <T extends Readonly<{ output: JsonObject; reason?: string }>>(
  result: T,
  secrets: readonly string[],
): T => {
  const told = secrets.filter((secret) => secret.length >= REDACTED_CHARS_MIN);
  if (told.length === 0) return result;
  const forms = [...new Set(told.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  const reason = result.reason === undefined ? {} : { reason: cleaned(result.reason, forms) as string };
  return { ...result, output: cleaned(result.output, forms) as JsonObject, ...reason };
};
