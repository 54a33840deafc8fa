import { z } from 'zod';
import type { BlobCollector } from '../../ports/blob-store.ts';
import type { Session } from './database.ts';
import { prepared, preparedCommand, sql, text } from './statement.ts';

const referred = prepared('blobs_referred', z.object({ sha256: text }));
const collect = preparedCommand('blobs_collect');

const prefixOf = (shard: number): string => shard.toString(16).padStart(2, '0');
/** Behind every hexadecimal digit. */
const AFTER = 'g';

/**
 * Removes values that no run refers to. One that was put of late is let be: who put it may not have committed the row that
 * refers to it. One that is being put again right now is locked, or has a fresh time once it is not.
 */
export const createBlobCollector = (session: Session): BlobCollector => ({
  collect: async (shard, idleMs) => {
    const { blobs } = session;
    if (blobs === undefined) {
      return session.run(collect`
        delete from blobs b
        using (
          select sha256 from blobs
          where sha256 >= ${prefixOf(shard)} and sha256 < ${`${prefixOf(shard)}${AFTER}`}
            and used_at <= (select clock_timestamp()) - ${idleMs}::bigint * interval '1 millisecond'
            and not exists (select from blob_references r where r.sha256 = blobs.sha256)
          order by sha256
          for update skip locked
        ) as idle
        where b.sha256 = idle.sha256`);
    }
    const idle = await blobs.idle(shard, idleMs);
    if (idle.length === 0) return 0;
    const rows = await session.rows(referred`
      select n.sha256 from unnest(${sql.array(idle, 'text')}) as n (sha256)
      where exists (select from blob_references r where r.sha256 = n.sha256)`);
    const kept = new Set(rows.map(({ sha256 }) => sha256));
    let removed = 0;
    for (const name of idle) if (!kept.has(name) && (await blobs.remove(name, idleMs))) removed += 1;
    return removed;
  },
});
