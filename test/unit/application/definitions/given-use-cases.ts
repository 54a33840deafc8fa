import { sha256 } from '../../../../src/adapters/hash/sha256.ts';
import { createAjvValidator } from '../../../../src/adapters/json-schema/ajv-validator.ts';
import { createMemoryStores } from '../../../../src/adapters/memory/stores.ts';
import { createDefinitionUseCases } from '../../../../src/application/definitions/definition-use-cases.ts';
import type { Namespace } from '../../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../../src/domain/kernel/json.ts';
import { err, ok, type Result } from '../../../../src/domain/kernel/result.ts';
import type { DefinitionStore } from '../../../../src/ports/definition-store.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

export const ALPHA = 'alpha' as Namespace;
export const BETA = 'beta' as Namespace;

export const task = (name: string, fields: JsonObject = {}): JsonObject => ({
  name,
  taskReferenceName: name,
  type: 'SIMPLE',
  ...fields,
});

export const workflow = (fields: JsonObject = {}): JsonObject => ({
  name: 'checkout',
  tasks: [task('charge')],
  ...fields,
});

/** A store that counts what it is asked, over the memory adapter. */
export const givenDefinitions = () => {
  const store = createMemoryStores({ clock: createFakeClock() }).definitions;
  const calls = { putBundle: 0, findBundles: 0 };
  const definitions: DefinitionStore = {
    ...store,
    putBundle: (hash, bundle) => {
      calls.putBundle += 1;
      return store.putBundle(hash, bundle);
    },
    findBundles: (hashes) => {
      calls.findBundles += 1;
      return store.findBundles(hashes);
    },
  };
  const useCases = createDefinitionUseCases({
    definitions,
    hash: sha256,
    tags: { clearTags: async () => undefined },
    schemas: createAjvValidator(() => ok(true)),
    checkScript: (source) =>
      source.includes('broken') ? err({ code: 'SCRIPT_SYNTAX', message: 'it is broken' }) : ok(undefined),
  });
  return { definitions, useCases, calls };
};

export const accepted = <T, E>(result: Result<T, E>): T => {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`);
  return result.value;
};
