import type { TaskDefinition } from '../../domain/definition/task-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { ContentHasher } from '../../ports/content-hasher.ts';
import type { DefinitionBundle, DefinitionStore } from '../../ports/definition-store.ts';
import { bundleHash } from './content.ts';
import { LruMap } from './lru-map.ts';
import { taskNamesOf } from './task-names.ts';

/** Definitions whose names of tasks, and bundles of which it is known that they are stored. */
const ENTRIES_MAX = 1_000;

/** What a run pins. */
export type ResolvedBundle = Readonly<{ hash: string; bundle: DefinitionBundle }>;

/** Finds a definition (the named version, or the highest) and freezes it with its task definitions; undefined: no such one. */
export type ResolveBundle = (
  namespace: Namespace,
  name: string,
  version?: number,
) => Promise<ResolvedBundle | undefined>;

/** The task definitions of these names that exist, by name. */
export const findTaskDefinitions = async (
  definitions: DefinitionStore,
  namespace: Namespace,
  names: readonly string[],
): Promise<Readonly<Record<string, TaskDefinition>>> => {
  if (names.length === 0) return {};
  const rows = await definitions.findTasks(namespace, names);
  return Object.fromEntries([...rows].map(([name, row]) => [name, row.definition]));
};

/** A resolver that stores each bundle once: bundles are addressed by content, so one that was stored stays valid. */
export const createBundleResolver = (
  collaborators: Readonly<{ definitions: DefinitionStore; hash: ContentHasher }>,
): ResolveBundle => {
  const { definitions, hash } = collaborators;
  const namesByHash = new LruMap<string, readonly string[]>(ENTRIES_MAX);
  const storedBundles = new LruMap<string, true>(ENTRIES_MAX);
  return async (namespace, name, version) => {
    const row = await definitions.findWorkflow(namespace, name, version);
    if (row === undefined) return undefined;
    const names = namesByHash.get(row.hash) ?? taskNamesOf(row.definition);
    namesByHash.set(row.hash, names);
    const taskDefinitions = await findTaskDefinitions(definitions, namespace, names);
    const address = bundleHash(hash, row.hash, taskDefinitions);
    const bundle = { workflow: row.definition, taskDefinitions };
    if (storedBundles.get(address) === undefined) {
      await definitions.putBundle(address, bundle);
      storedBundles.set(address, true);
    }
    return { hash: address, bundle };
  };
};
