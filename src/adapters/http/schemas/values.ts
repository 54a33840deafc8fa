import { z } from 'zod';
import { VALUE_CHARS_MAX } from '../../../application/values/value-use-cases.ts';
import { count, instantText } from './common.ts';

export const valueRequest = z.strictObject({ value: z.string().max(VALUE_CHARS_MAX) });

export const environmentValue = z.strictObject({
  name: z.string(),
  value: z.string(),
  createdAt: instantText,
  updatedAt: instantText,
});
export type EnvironmentValueBody = z.output<typeof environmentValue>;

export const environmentPage = z.strictObject({
  environment: z.array(environmentValue),
  nextCursor: z.string().optional(),
});
export type EnvironmentPageBody = z.output<typeof environmentPage>;

/** What it is, nobody is told. */
export const secretSummary = z.strictObject({
  name: z.string(),
  /** The key that it is sealed with. */
  keyId: z.string(),
  createdAt: instantText,
  updatedAt: instantText,
});
export type SecretSummaryBody = z.output<typeof secretSummary>;

export const secretPage = z.strictObject({ secrets: z.array(secretSummary), nextCursor: z.string().optional() });
export type SecretPageBody = z.output<typeof secretPage>;

export const valuePut = z.strictObject({ name: z.string(), outcome: z.enum(['created', 'replaced']) });
export type ValuePutBody = z.output<typeof valuePut>;

export const rotation = z.strictObject({
  keyId: z.string(),
  resealed: count,
  /** Names of those that no key of this server opens; they are as they were. */
  unreadable: z.array(z.string()),
});
export type RotationBody = z.output<typeof rotation>;
