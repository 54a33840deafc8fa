import type { WorkflowDefinition } from '../definition/workflow-definition.ts';
import type { JsonValue } from '../kernel/json.ts';

/** What stands in the place of a value that is not shown. */
export const MASK = '***';

/** Keys that are never shown, whatever the definition says. */
const ALWAYS_MASKED = ['_secrets', '_masked'];

export type MaskedKeys = ReadonlySet<string>;

export const maskedKeysOf = ({ maskedFields = [] }: Pick<WorkflowDefinition, 'maskedFields'>): MaskedKeys =>
  new Set([...ALWAYS_MASKED, ...maskedFields]);

/** A value as it may be shown: what stands under a masked key, at any depth, is replaced. What needs no mask is not copied. */
export const masked = <T extends JsonValue>(value: T, keys: MaskedKeys): T => mask(value, keys) as T;

const mask = (value: JsonValue, keys: MaskedKeys): JsonValue => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return maskedList(value, keys);
  const shown: Record<string, JsonValue> = {};
  let isMasked = false;
  for (const [key, item] of Object.entries(value)) {
    shown[key] = keys.has(key) ? MASK : mask(item, keys);
    isMasked ||= shown[key] !== item;
  }
  return isMasked ? shown : value;
};

const maskedList = (list: readonly JsonValue[], keys: MaskedKeys): JsonValue => {
  const shown = list.map((item) => mask(item, keys));
  return shown.some((item, index) => item !== list[index]) ? shown : list;
};

/**
 * Fields of facts and views that are of the engine's own making, whose keys are its own words. All others that hold more than
 * a text or number are payload, those too that facts of later versions bring.
 */
const STRUCTURE: ReadonlySet<string> = new Set([
  'disposition',
  'policy',
  'parent',
  'taskToDomain',
  'tasks',
  'outputSchema',
]);

/** A fact, a task or a run as it may be shown: its own fields stay, payloads are masked. */
export const maskedFieldsOf = <T extends object>(record: T, keys: MaskedKeys): T => {
  const shown = Object.entries(record).flatMap(([field, value]): readonly (readonly [string, JsonValue])[] => {
    if (typeof value !== 'object' || value === null || STRUCTURE.has(field)) return [];
    const masked = mask(value as JsonValue, keys);
    return masked === value ? [] : [[field, masked]];
  });
  return shown.length === 0 ? record : { ...record, ...Object.fromEntries(shown) };
};
