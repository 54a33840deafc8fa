import type { TaskDefinition } from '../../domain/definition/task-definition.ts';
import type { WorkflowDefinition } from '../../domain/definition/workflow-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { ContentHasher } from '../../ports/content-hasher.ts';
import type { DefinitionBundle, DefinitionStore, TaskDefinitionRow } from '../../ports/definition-store.ts';
import type { PinnedDefinition } from '../../ports/run-start.ts';
import { bundleHash } from './content.ts';
import { LruMap } from './lru-map.ts';
import { taskNamesOf } from './task-names.ts';

/** Definitions whose names of tasks, and bundles of which it is known that they are stored. */
const ENTRIES_MAX = 1_000;

/** What a run pins. */
export type ResolvedBundle = Readonly<{
  hash: string;
  bundle: DefinitionBundle;
  /** What it was made of. */
  pinned: Pick<PinnedDefinition, 'found' | 'tasks'>;
  /** Told when the transaction that put the bundle has committed: from then on it need not be put again. */
  remember: () => void;
}>;

/** Finds a definition (the named version, or the highest) and freezes it with its task definitions; undefined: no such one. */
export type ResolveBundle = (
  namespace: Namespace,
  name: string,
  version?: number,
  /** Instead of the store: the transaction at hand. */
  source?: BundleStore,
) => Promise<ResolvedBundle | undefined>;

/** Where a definition is looked up and its bundle is put. */
export type BundleStore = Pick<DefinitionStore, 'findWorkflow' | 'findTasks' | 'putBundle'>;

type FoundTasks = ReadonlyMap<string, TaskDefinitionRow>;

const definitionsOf = (rows: FoundTasks): Readonly<Record<string, TaskDefinition>> =>
  Object.fromEntries([...rows].map(([name, row]) => [name, row.definition]));

/** The task definitions of these names that exist, by name. */
export const findTaskDefinitions = async (
  definitions: Pick<DefinitionStore, 'findTasks'>,
  namespace: Namespace,
  names: readonly string[],
): Promise<Readonly<Record<string, TaskDefinition>>> => {
  if (names.length === 0) return {};
  return definitionsOf(await definitions.findTasks(namespace, names));
};

/** Freezes a definition with the task definitions that it names now. */
export const bundleOf = async (
  source: Pick<DefinitionStore, 'findTasks'>,
  hash: ContentHasher,
  namespace: Namespace,
  definition: Readonly<{ workflow: WorkflowDefinition; hash: string; names: readonly string[] }>,
): Promise<Omit<ResolvedBundle, 'remember'>> => {
  const { names, workflow } = definition;
  const rows: FoundTasks = names.length === 0 ? new Map() : await source.findTasks(namespace, names);
  const taskDefinitions = definitionsOf(rows);
  const tasks = names.map((name) => {
    const contentHash = rows.get(name)?.contentHash;
    return contentHash === undefined ? { name } : { name, contentHash };
  });
  return {
    hash: bundleHash(hash, definition.hash, taskDefinitions),
    bundle: { workflow, taskDefinitions },
    pinned: { found: { version: workflow.version, hash: definition.hash }, tasks },
  };
};

/**
 * A resolver that stores each bundle once: bundles are addressed by content, so one that was stored stays valid. What a
 * transaction puts may yet be rolled back, so that is not remembered.
 */
export const createBundleResolver = (
  collaborators: Readonly<{ definitions: DefinitionStore; hash: ContentHasher }>,
): ResolveBundle => {
  const { definitions, hash } = collaborators;
  const namesByHash = new LruMap<string, readonly string[]>(ENTRIES_MAX);
  const storedBundles = new LruMap<string, true>(ENTRIES_MAX);
  return async (namespace, name, version, source = definitions) => {
    const row = await source.findWorkflow(namespace, name, version);
    if (row === undefined) return undefined;
    const names = namesByHash.get(row.hash) ?? taskNamesOf(row.definition);
    namesByHash.set(row.hash, names);
    const resolved = await bundleOf(source, hash, namespace, { workflow: row.definition, hash: row.hash, names });
    const remember = (): void => {
      storedBundles.set(resolved.hash, true);
    };
    if (storedBundles.get(resolved.hash) === undefined) {
      await source.putBundle(resolved.hash, resolved.bundle);
      if (source === definitions) remember();
    }
    return { ...resolved, remember };
  };
};
