import { EVERY_NAME } from '../../domain/definition/environment-names.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { NamedValue, NamedValueKind, NamedValueStore } from '../../ports/named-values.ts';
import { optional } from './optional.ts';
import type { NamedValueRow } from './rows.ts';
import type { Serializer } from './serializer.ts';
import type { MemoryState } from './state.ts';
import { namedValueKey } from './tables.ts';

const inOrder = (state: MemoryState, namespace: Namespace, kind: NamedValueKind): readonly NamedValueRow[] =>
  [...state.tables.namedValues.values()]
    .filter((row) => row.namespace === namespace && row.kind === kind)
    .sort((a, b) => (a.name < b.name ? -1 : 1));

const shownValue = ({ namespace: _namespace, kind: _kind, ...value }: NamedValueRow): NamedValue => value;

const put = (
  state: MemoryState,
  ...[namespace, kind, { name, value, keyId }, valuesMax]: Parameters<NamedValueStore['putValue']>
): Awaited<ReturnType<NamedValueStore['putValue']>> => {
  const key = namedValueKey({ namespace, kind, name });
  const before = state.tables.namedValues.get(key);
  if (before === undefined && inOrder(state, namespace, kind).length >= valuesMax) return 'refused';
  const now = state.now();
  const createdAt = before?.createdAt ?? now;
  state.tables.namedValues.put({
    namespace,
    kind,
    name,
    value,
    createdAt,
    updatedAt: now,
    ...optional('keyId', keyId),
  });
  return before === undefined ? 'created' : 'replaced';
};

/** Environment values and sealed secrets in memory; each write is a transaction of its own. */
export const createNamedValueStore = (state: MemoryState, serializer: Serializer): NamedValueStore => {
  const committed = <T>(work: () => T): Promise<T> =>
    serializer.transaction(async () => {
      const result = work();
      state.journal.commit();
      return result;
    });
  const { namedValues } = state.tables;
  return {
    putValue: (...given) => committed(() => put(state, ...given)),
    findValues: (namespace, kind, names) =>
      serializer.read(() =>
        inOrder(state, namespace, kind)
          .filter(({ name }) => names.includes(name))
          .map(shownValue),
      ),
    listValues: (namespace, kind, { limit, after = '' }) =>
      serializer.read(() =>
        inOrder(state, namespace, kind)
          .filter(({ name }) => name > after)
          .slice(0, limit)
          .map(shownValue),
      ),
    deleteValue: (namespace, kind, name) =>
      committed(() => namedValues.delete(namedValueKey({ namespace, kind, name })) !== undefined),
    findSealedOtherwise: (namespace, keyId, limit) =>
      serializer.read(() =>
        inOrder(state, namespace, 'SECRET')
          .filter((row) => row.keyId !== keyId)
          .slice(0, limit)
          .map(shownValue),
      ),
    resealValue: (namespace, name, from, to) =>
      committed(() => {
        const row = namedValues.get(namedValueKey({ namespace, kind: 'SECRET', name }));
        if (row?.value !== from) return false;
        namedValues.put({ ...row, ...to });
        return true;
      }),
  };
};

export const environmentOf = (
  state: MemoryState,
  namespace: Namespace,
  names: readonly string[],
): ReadonlyMap<string, string> => {
  const all = names.includes(EVERY_NAME);
  const rows = inOrder(state, namespace, 'ENVIRONMENT').filter(({ name }) => all || names.includes(name));
  return new Map(rows.map(({ name, value }) => [name, value]));
};
