import { z } from 'zod';
import { instantText, jsonValue, nameText, versionNumber } from './common.ts';

/** The schema itself is judged by the use case, which knows what can be used. */
export const schemaDocument = z.strictObject({
  name: nameText,
  version: versionNumber.optional(),
  type: z.string().default('JSON'),
  data: jsonValue.meta({ description: 'A JSON Schema, 2020-12.' }),
});

export const registeredSchema = z.strictObject({
  outcome: z.enum(['created', 'unchanged']),
  name: z.string(),
  version: z.int(),
});
export type RegisteredSchemaBody = z.output<typeof registeredSchema>;

export const schemaDetail = z.strictObject({
  name: z.string(),
  version: z.int(),
  type: z.literal('JSON'),
  data: jsonValue,
  createdAt: instantText,
});
export type SchemaDetailBody = z.output<typeof schemaDetail>;

export const schemaPage = z.strictObject({ schemas: z.array(schemaDetail), nextCursor: z.string().optional() });
export type SchemaPageBody = z.output<typeof schemaPage>;
