import type { UseCases } from '../../application/use-cases.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';

/** Above it the oldest is forgotten, which costs one look-up. */
const REMEMBERED_MAX = 10_000;

/** Whether a namespace exists. Those that do are remembered, for none is ever deleted. */
export const knownNamespaces = (access: UseCases['access']): ((namespace: Namespace) => Promise<boolean>) => {
  const known = new Set<Namespace>();
  return async (namespace) => {
    if (known.has(namespace)) return true;
    if (!(await access.namespaceExists(namespace))) return false;
    const [oldest] = known;
    if (known.size >= REMEMBERED_MAX && oldest !== undefined) known.delete(oldest);
    known.add(namespace);
    return true;
  };
};
