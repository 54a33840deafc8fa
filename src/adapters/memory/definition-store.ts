import { isDeepStrictEqual } from 'node:util';
import type { WorkflowDefinition } from '../../domain/definition/workflow-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type {
  DefinitionBundle,
  DefinitionQuotaExceeded,
  DefinitionStore,
  PutDefinitionOutcome,
  SchemaRow,
  WorkflowDefinitionRow,
} from '../../ports/definition-store.ts';
import { inNamespace } from './rows.ts';
import type { MemoryState } from './state.ts';

type VersionsByName = Map<string, Map<number, WorkflowDefinitionRow>>;

const byVersion = (a: WorkflowDefinitionRow, b: WorkflowDefinitionRow): number => a.version - b.version;
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Versions of workflow definitions, by namespace and name. */
class WorkflowVersions {
  readonly #state: MemoryState;
  readonly #namespaces = new Map<Namespace, VersionsByName>();

  constructor(state: MemoryState) {
    this.#state = state;
  }

  versions(namespace: Namespace, name: string): readonly WorkflowDefinitionRow[] {
    return [...(this.#namespaces.get(namespace)?.get(name)?.values() ?? [])].sort(byVersion);
  }

  all(namespace: Namespace): readonly WorkflowDefinitionRow[] {
    const names = [...(this.#namespaces.get(namespace)?.keys() ?? [])].sort(compareText);
    return names.flatMap((name) => this.versions(namespace, name));
  }

  /** Undefined: the name is there already, or there is room for it. */
  exceeded(namespace: Namespace, name: string): DefinitionQuotaExceeded | undefined {
    const limit = this.#state.tables.quotas.get(namespace)?.quotas.maxWorkflowDefinitions;
    const names = new Set(this.all(namespace).map((row) => row.name));
    if (limit === undefined || names.has(name) || names.size < limit) return undefined;
    return { quota: 'maxWorkflowDefinitions', limit, current: names.size };
  }

  put(namespace: Namespace, definition: WorkflowDefinition, hash: string, overwrite: boolean): PutDefinitionOutcome {
    const { name, version } = definition;
    const before = this.#namespaces.get(namespace)?.get(name)?.get(version);
    if (before?.hash === hash) return 'unchanged';
    if (before !== undefined && !overwrite) return 'conflict';
    const now = this.#state.now();
    const row = { name, version, hash, createdAt: before?.createdAt ?? now, updatedAt: now, definition };
    this.#versionsOf(namespace, name).set(version, row);
    return before === undefined ? 'created' : 'replaced';
  }

  delete(namespace: Namespace, name: string, version: number): boolean {
    return this.#namespaces.get(namespace)?.get(name)?.delete(version) ?? false;
  }

  #versionsOf(namespace: Namespace, name: string): Map<number, WorkflowDefinitionRow> {
    const names = this.#namespaces.get(namespace) ?? new Map<string, Map<number, WorkflowDefinitionRow>>();
    const versions = names.get(name) ?? new Map<number, WorkflowDefinitionRow>();
    this.#namespaces.set(namespace, names);
    names.set(name, versions);
    return versions;
  }
}

const workflowMethods = (
  workflows: WorkflowVersions,
): Pick<
  DefinitionStore,
  | 'putWorkflow'
  | 'putNextWorkflowVersion'
  | 'findWorkflow'
  | 'listWorkflows'
  | 'listWorkflowVersions'
  | 'deleteWorkflow'
> => ({
  putWorkflow: async (namespace, definition, hash, overwrite) =>
    workflows.exceeded(namespace, definition.name) ?? workflows.put(namespace, definition, hash, overwrite),
  putNextWorkflowVersion: async (namespace, name, at) => {
    const exceeded = workflows.exceeded(namespace, name);
    if (exceeded !== undefined) return exceeded;
    const version = (workflows.versions(namespace, name).at(-1)?.version ?? 0) + 1;
    const { definition, hash } = at(version);
    workflows.put(namespace, definition, hash, false);
    return version;
  },
  findWorkflow: async (namespace, name, version) => {
    const versions = workflows.versions(namespace, name);
    return version === undefined ? versions.at(-1) : versions.find((row) => row.version === version);
  },
  listWorkflows: async (namespace, { limit, after }) => {
    const rows = workflows.all(namespace);
    const isAfter = (row: WorkflowDefinitionRow) =>
      after === undefined || (compareText(row.name, after.name) || row.version - after.version) > 0;
    return rows.filter(isAfter).slice(0, limit);
  },
  listWorkflowVersions: async (namespace, name) => workflows.versions(namespace, name),
  deleteWorkflow: async (namespace, name, version) => workflows.delete(namespace, name, version),
});

const found = <K, V>(keys: readonly K[], find: (key: K) => V | undefined): ReadonlyMap<K, V> =>
  new Map(
    keys.flatMap((key): [K, V][] => {
      const value = find(key);
      return value === undefined ? [] : [[key, value]];
    }),
  );

const taskMethods = (
  state: MemoryState,
): Pick<DefinitionStore, 'putTask' | 'findTasks' | 'listTasks' | 'deleteTask'> => {
  const tasks = state.taskDefinitions;
  return {
    putTask: async (namespace, definition) => {
      const key = inNamespace(namespace, definition.name);
      const before = tasks.get(key);
      if (isDeepStrictEqual(before?.definition, definition)) return 'unchanged';
      const now = state.now();
      const contentHash = JSON.stringify(definition);
      tasks.set(key, { createdAt: before?.createdAt ?? now, updatedAt: now, definition, contentHash });
      return before === undefined ? 'created' : 'replaced';
    },
    findTasks: async (namespace, names) => found(names, (name) => tasks.get(inNamespace(namespace, name))),
    listTasks: async (namespace, { limit, after }) =>
      [...tasks]
        .filter(([key, { definition }]) => key === inNamespace(namespace, definition.name))
        .map(([, row]) => row)
        .filter(({ definition }) => after === undefined || definition.name > after)
        .sort((a, b) => compareText(a.definition.name, b.definition.name))
        .slice(0, limit),
    deleteTask: async (namespace, name) => tasks.delete(inNamespace(namespace, name)),
  };
};

const schemaMethods = (
  state: MemoryState,
): Pick<DefinitionStore, 'putSchema' | 'findSchema' | 'listSchemas' | 'deleteSchema'> => {
  const schemas = new Map<string, SchemaRow & Readonly<{ namespace: Namespace }>>();
  const keyOf = (namespace: Namespace, name: string, version: number) => inNamespace(namespace, `${version}/${name}`);
  const rowsOf = (namespace: Namespace): readonly SchemaRow[] =>
    [...schemas.values()]
      .filter((row) => row.namespace === namespace)
      .map(({ namespace: _, ...row }) => row)
      .sort((a, b) => compareText(a.name, b.name) || a.version - b.version);
  const highest = (namespace: Namespace, name: string) =>
    rowsOf(namespace)
      .filter((row) => row.name === name)
      .at(-1);
  return {
    putSchema: async (namespace, { name, version, data, overwrites = false }) => {
      const latest = highest(namespace, name);
      if (version === undefined && latest !== undefined && isDeepStrictEqual(latest.data, data)) {
        return { outcome: 'unchanged', version: latest.version };
      }
      const at = version ?? (latest?.version ?? 0) + 1;
      const present = schemas.get(keyOf(namespace, name, at));
      if (present !== undefined && isDeepStrictEqual(present.data, data)) return { outcome: 'unchanged', version: at };
      if (present !== undefined && !overwrites) return { outcome: 'conflict', version: at };
      const createdAt = present?.createdAt ?? state.now();
      schemas.set(keyOf(namespace, name, at), { namespace, name, version: at, data, createdAt });
      return { outcome: present === undefined ? 'created' : 'replaced', version: at };
    },
    findSchema: async (namespace, name, version) =>
      version === undefined
        ? highest(namespace, name)
        : rowsOf(namespace).find((row) => row.name === name && row.version === version),
    listSchemas: async (namespace, { limit, after }) =>
      rowsOf(namespace)
        .filter((row) => after === undefined || (compareText(row.name, after.name) || row.version - after.version) > 0)
        .slice(0, limit),
    deleteSchema: async (namespace, name, version) => schemas.delete(keyOf(namespace, name, version)),
  };
};

const bundleMethods = (): Pick<DefinitionStore, 'putBundle' | 'findBundles'> => {
  const bundles = new Map<string, DefinitionBundle>();
  return {
    putBundle: async (hash, bundle) => {
      if (!bundles.has(hash)) bundles.set(hash, bundle);
    },
    findBundles: async (hashes) => found(hashes, (hash) => bundles.get(hash)),
  };
};

/** Definitions in memory. Each call is one synchronous step, so calls never interleave. */
export const createDefinitionStore = (state: MemoryState): DefinitionStore => ({
  ...workflowMethods(new WorkflowVersions(state)),
  ...taskMethods(state),
  ...schemaMethods(state),
  ...bundleMethods(),
});
