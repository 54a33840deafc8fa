import { z } from 'zod';
import { instantInput, instantText, nameText } from './common.ts';

const SCOPES_MAX = 100;
const SCOPE_CHARS_MAX = 512;

export const createKeyRequest = z.strictObject({
  name: nameText,
  scopes: z.array(z.string().min(1).max(SCOPE_CHARS_MAX)).min(1).max(SCOPES_MAX),
  expiresAt: instantInput.optional(),
});

export const createdKey = z.strictObject({
  id: z.string(),
  /** Shown this once. */
  key: z.string(),
  scopes: z.array(z.string()),
});
export type CreatedKeyBody = z.output<typeof createdKey>;

export const keySummary = z.strictObject({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  scopes: z.array(z.string()),
  createdAt: instantText,
  expiresAt: instantText.optional(),
  lastUsedAt: instantText.optional(),
  revoked: z.boolean(),
});
export type KeySummaryBody = z.output<typeof keySummary>;

export const keyList = z.strictObject({ keys: z.array(keySummary) });
export type KeyListBody = z.output<typeof keyList>;

/** The name is checked by the handler: INVALID_NAME, not VALIDATION_FAILED. */
export const createNamespaceRequest = z.strictObject({ name: z.string() });

export const createdNamespace = z.strictObject({ name: z.string() });
export type CreatedNamespaceBody = z.output<typeof createdNamespace>;

export const namespaceList = z.strictObject({ namespaces: z.array(z.string()) });
export type NamespaceListBody = z.output<typeof namespaceList>;
