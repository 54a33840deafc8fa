import { z } from 'zod';
import type { DefinitionProblem } from '../../domain/definition/definition-problem.ts';
import { nameProblem } from '../../domain/definition/names.ts';
import { JSON_SCHEMA_TYPE } from '../../domain/definition/schemas.ts';
import { ok } from '../../domain/kernel/result.ts';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import type { SchemaDocument, UseCases } from '../use-cases.ts';
import { definitionNotFound, refusedDefinition } from './definition-error.ts';
import { pageOf } from './list-definitions.ts';
import type { SchemaCollaborators } from './resolve-schemas.ts';

type SchemaUseCases = Pick<UseCases['definitions'], 'registerSchema' | 'getSchema' | 'listSchemas' | 'deleteSchema'>;

const SCHEMA_KEY = z.tuple([z.string(), z.int().min(0)]);

const noSchema = (name: string, version?: number) =>
  definitionNotFound(`There is no schema ${name} version ${version ?? 'latest'}.`);

const problemsOf = (
  { name, type, data }: SchemaDocument,
  { schemas }: SchemaCollaborators,
): readonly DefinitionProblem[] => {
  const invalid = (message: string, path: string) => ({ code: 'VALIDATION_FAILED' as const, message, path });
  const named = nameProblem(name, 'name', 'v1');
  const unusable = schemas.problem({ name, type: JSON_SCHEMA_TYPE, data });
  return [
    ...(named === undefined ? [] : [named]),
    ...(type === JSON_SCHEMA_TYPE ? [] : [invalid(`a schema is of type ${JSON_SCHEMA_TYPE}`, 'type')]),
    ...(unusable === undefined ? [] : [invalid(unusable, 'data')]),
  ];
};

/**
 * Registering, reading and deleting schemas. A version changes only where that is asked for; definitions that name it carry its data, so deleting it
 * changes none of them. Errors: NOT_FOUND, INVALID_CURSOR, ALREADY_EXISTS, VALIDATION_FAILED, INVALID_NAME.
 */
export const createSchemaUseCases = (collaborators: SchemaCollaborators): SchemaUseCases => {
  const { definitions } = collaborators;
  return {
    registerSchema: async (namespace, document, overwrites = false) => {
      const problems = problemsOf(document, collaborators);
      if (problems.length > 0) return refusedDefinition(problems);
      const { name, version, data } = document;
      const given = { name, data, overwrites, ...(version === undefined ? {} : { version }) };
      return ok({ name, ...(await definitions.putSchema(namespace, given)) });
    },
    getSchema: async (namespace, name, version) => {
      const row = await definitions.findSchema(namespace, name, version);
      return row === undefined ? noSchema(name, version) : ok(row);
    },
    listSchemas: async (namespace, limit, cursor) => {
      const scope = `schemas:${namespace}`;
      const start = cursor === undefined ? undefined : decodeCursor(scope, cursor, SCHEMA_KEY);
      if (start?.ok === false) return start;
      const page = { limit: limit + 1, ...(start && { after: { name: start.value[0], version: start.value[1] } }) };
      const rows = await definitions.listSchemas(namespace, page);
      return ok(pageOf(rows, limit, (row) => encodeCursor(scope, [row.name, row.version])));
    },
    deleteSchema: async (namespace, name, version) =>
      (await definitions.deleteSchema(namespace, name, version)) ? ok(null) : noSchema(name, version),
  };
};
