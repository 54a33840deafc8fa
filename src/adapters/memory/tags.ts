import type { Namespace } from '../../domain/kernel/brand.ts';
import type { Tag, Tagged, TagStore } from '../../ports/tag-store.ts';
import type { TagRow } from './rows.ts';
import type { Serializer } from './serializer.ts';
import type { MemoryState } from './state.ts';
import { tagKey } from './tables.ts';

const rowsOf = (state: MemoryState, namespace: Namespace, { kind, name }: Tagged): readonly TagRow[] =>
  [...state.tables.tags.inOrder.in(namespace)].filter((row) => row.kind === kind && row.name === name);

const put = (state: MemoryState, namespace: Namespace, { kind, name }: Tagged, tags: readonly Tag[]): void => {
  for (const { key, value } of tags) state.tables.tags.put({ namespace, kind, name, key, value });
};

const clear = (state: MemoryState, namespace: Namespace, thing: Tagged): void => {
  for (const row of rowsOf(state, namespace, thing)) state.tables.tags.delete(tagKey(row));
};

const add = (
  state: MemoryState,
  namespace: Namespace,
  thing: Tagged,
  tags: readonly Tag[],
  tagsMax: number,
): boolean => {
  const rows = tags.map(({ key, value }) => ({ namespace, kind: thing.kind, name: thing.name, key, value }));
  const after = new Set([...rowsOf(state, namespace, thing), ...rows].map(tagKey));
  if (after.size > tagsMax) return false;
  put(state, namespace, thing, tags);
  return true;
};

/** Tags in memory; each write is a transaction of its own. */
export const createTagStore = (state: MemoryState, serializer: Serializer): TagStore => {
  const committed = <T>(work: () => T): Promise<T> =>
    serializer.transaction(async () => {
      const result = work();
      state.journal.commit();
      return result;
    });
  return {
    addTags: (namespace, thing, tags, tagsMax) => committed(() => add(state, namespace, thing, tags, tagsMax)),
    replaceTags: (namespace, thing, tags) =>
      committed(() => {
        clear(state, namespace, thing);
        put(state, namespace, thing, tags);
      }),
    removeTags: (namespace, { kind, name }, tags) =>
      committed(() => {
        const keys = new Set(tags.map(({ key, value }) => tagKey({ namespace, kind, name, key, value })));
        return [...keys].filter((key) => state.tables.tags.delete(key) !== undefined).length;
      }),
    clearTags: (namespace, thing) => committed(() => clear(state, namespace, thing)),
    tagsOf: (namespace, kind, names) =>
      serializer.read(() => {
        const found = new Map<string, Tag[]>();
        for (const row of state.tables.tags.inOrder.in(namespace)) {
          if (row.kind !== kind || !names.includes(row.name)) continue;
          found.set(row.name, [...(found.get(row.name) ?? []), { key: row.key, value: row.value }]);
        }
        return found;
      }),
    namesWith: (namespace, kind, { key, value }, limit) =>
      serializer.read(() =>
        [...state.tables.tags.inOrder.in(namespace)]
          .filter((row) => row.kind === kind && row.key === key && row.value === value)
          .slice(0, limit)
          .map(({ name }) => name),
      ),
    listTags: (namespace, limit) =>
      serializer.read(() =>
        [...state.tables.tags.inOrder.in(namespace)]
          .slice(0, limit)
          .map(({ kind, name, key, value }) => ({ kind, name, tag: { key, value } })),
      ),
  };
};
