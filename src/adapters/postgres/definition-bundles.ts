import { z } from 'zod';
import type { DefinitionBundle, DefinitionStore } from '../../ports/definition-store.ts';
import type { Session } from './database.ts';
import { jsonOf, prepared, preparedCommand, sql, text } from './statement.ts';

const put = preparedCommand('bundles_put');
const find = prepared('bundles_find', z.object({ hash: text, bundle: jsonOf<DefinitionBundle>() }));

export const findBundles = async (
  session: Session,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, DefinitionBundle>> => {
  if (hashes.length === 0) return new Map();
  const rows = await session.rows(find`
    select hash, content as bundle from definition_bundles where hash = any(${sql.array(hashes, 'text')})`);
  return new Map(rows.map(({ hash, bundle }) => [hash, bundle]));
};

export const putBundle = async (session: Session, hash: string, bundle: DefinitionBundle): Promise<void> => {
  await session.run(put`
    insert into definition_bundles (hash, content) values (${hash}, ${JSON.stringify(bundle)}::json)
    on conflict (hash) do nothing`);
};

/** What runs pin, under the hash of its content. */
export const bundleMethods = (session: Session): Pick<DefinitionStore, 'putBundle' | 'findBundles'> => ({
  putBundle: (hash, bundle) => putBundle(session, hash, bundle),
  findBundles: (hashes) => findBundles(session, hashes),
});
