import { z } from 'zod';
import { instantText, jsonObject, jsonValue, versionQuery } from './common.ts';

/** The document goes to the use case as it is: the definition parser owns its rules and names every problem by path. */
export const definitionDocument = jsonValue.meta({ description: 'A definition as written by its author.' });

export const definitionQuery = z.strictObject({ version: versionQuery.optional() });

export const definitionSummary = z.strictObject({
  name: z.string(),
  version: z.int(),
  hash: z.string(),
  description: z.string().optional(),
  createdAt: instantText,
  updatedAt: instantText,
});
export type DefinitionSummaryBody = z.output<typeof definitionSummary>;

export const definitionDetail = definitionSummary.extend({
  /** In the form in which it can be registered again. */
  definition: jsonObject,
});
export type DefinitionDetailBody = z.output<typeof definitionDetail>;

export const definitionPage = z.strictObject({
  definitions: z.array(definitionSummary),
  nextCursor: z.string().optional(),
});
export type DefinitionPageBody = z.output<typeof definitionPage>;

export const definitionVersions = z.strictObject({ versions: z.array(definitionSummary) });
export type DefinitionVersionsBody = z.output<typeof definitionVersions>;

const registeredOutcome = z.enum(['created', 'unchanged', 'replaced']);

export const registeredWorkflow = z.strictObject({
  outcome: registeredOutcome,
  name: z.string(),
  version: z.int(),
  definition: jsonObject,
});
export type RegisteredWorkflowBody = z.output<typeof registeredWorkflow>;

export const validationAnswer = z.strictObject({
  valid: z.boolean(),
  problems: z.array(z.strictObject({ code: z.string(), message: z.string(), path: z.string() })),
});
export type ValidationAnswerBody = z.output<typeof validationAnswer>;

export const registeredTask = z.strictObject({
  outcome: registeredOutcome,
  name: z.string(),
  definition: jsonObject,
});
export type RegisteredTaskBody = z.output<typeof registeredTask>;

export const taskDefinitionDetail = z.strictObject({
  name: z.string(),
  createdAt: instantText,
  updatedAt: instantText,
  definition: jsonObject,
});
export type TaskDefinitionDetailBody = z.output<typeof taskDefinitionDetail>;

export const taskDefinitionPage = z.strictObject({
  definitions: z.array(taskDefinitionDetail),
  nextCursor: z.string().optional(),
});
export type TaskDefinitionPageBody = z.output<typeof taskDefinitionPage>;
