import { z } from 'zod';
import type { RateLimitConfig } from '../../../../domain/definition/workflow-definition.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../domain/kernel/json.ts';
import { INTEGER_MAX } from '../../schemas/common.ts';
import * as field from './fields.ts';

/** Documents that one call registers. */
export const DOCUMENTS_MAX = 1_000;

/** One or several: a document is judged by the parser, which names every problem in it. */
export const documents = z
  .union([z.array(field.object).min(1).max(DOCUMENTS_MAX), field.object])
  .transform((given): readonly JsonObject[] => (Array.isArray(given) ? given : [given as JsonObject]));

const tag = z.object({ key: field.text, value: field.otherwise(field.text, '') });

/** Tags, one or several; what Orkes says of their type is all the same here. */
export const tags = z.union([z.array(tag), tag]).transform((given) => (Array.isArray(given) ? given : [given]));

export const rateLimit: z.ZodType<RateLimitConfig> = z.object({
  rateLimitKey: field.text.refine((key) => key.trim() !== '', 'a key must not be empty'),
  concurrentExecLimit: field.integer(1, INTEGER_MAX),
  policy: field.otherwise(z.enum(['QUEUE', 'REJECT']), 'QUEUE'),
});

const schemaDef = z.object({
  name: field.text,
  version: field.maybe(field.integer(0, INTEGER_MAX)),
  type: field.otherwise(field.text, 'JSON'),
  data: field.maybe(z.custom<JsonValue>((value) => value !== undefined)),
});
export const schemaDefs = z
  .union([z.array(schemaDef).min(1).max(DOCUMENTS_MAX), schemaDef])
  .transform((given) => (Array.isArray(given) ? given : [given]));

const tagOf = (value: JsonValue): readonly Readonly<{ key: string; value: string }>[] => {
  if (!isJsonObject(value) || typeof value.key !== 'string') return [];
  return [{ key: value.key, value: typeof value.value === 'string' ? value.value : '' }];
};

/** The tags that a definition brings along, as Orkes' clients write them; undefined: it says nothing of tags. */
export const tagsIn = (document: JsonObject) =>
  Array.isArray(document.tags) ? document.tags.flatMap(tagOf) : undefined;
