import type { DefinitionStore } from '../../ports/definition-store.ts';
import type { Database } from './database.ts';
import { bundleMethods } from './definition-bundles.ts';
import { schemaMethods } from './definition-schemas.ts';
import { taskDefinitionMethods } from './task-definitions.ts';
import { workflowDefinitionMethods } from './workflow-definitions.ts';

/** Definitions on PostgreSQL. */
export const createDefinitionStore = (database: Database): DefinitionStore => ({
  ...workflowDefinitionMethods(database),
  ...taskDefinitionMethods(database),
  ...schemaMethods(database),
  ...bundleMethods(database),
});
