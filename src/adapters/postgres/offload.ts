import { createHash } from 'node:crypto';
import { z } from 'zod';
import { PAYLOAD_INLINE_BYTES_MAX } from '../../domain/execution/payload-limit.ts';
import type { ExecutionId } from '../../domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../../domain/kernel/json.ts';
import type { Session } from './database.ts';
import { DatabaseDefectError } from './database-error.ts';
import { jsonRows, prepared, preparedCommand, sql, text } from './statement.ts';

const refer = preparedCommand('blob_references_put');
const put = preparedCommand('blobs_put');
const read = prepared('blobs_read', z.object({ sha256: text, content: text }));

/** Three bytes of UTF-8 at most for each unit of a string: what is no longer than this need not be measured. */
const SURELY_SMALL = PAYLOAD_INLINE_BYTES_MAX / 3;

/** Whether a value, as JSON, is kept elsewhere and not in the row. */
export const isLarge = (json: string): boolean =>
  json.length > SURELY_SMALL && Buffer.byteLength(json) > PAYLOAD_INLINE_BYTES_MAX;

/** Values that a transaction is about to refer to. They are put before the rows that do. */
export class Offloading {
  private readonly contents = new Map<string, string>();
  private readonly references: Readonly<{ executionId: ExecutionId; sha256: string }>[] = [];

  /** The name to refer to the value by. */
  add(executionId: ExecutionId, content: string): string {
    const sha256 = createHash('sha256').update(content).digest('hex');
    this.contents.set(sha256, content);
    this.references.push({ executionId, sha256 });
    return sha256;
  }

  isEmpty(): boolean {
    return this.contents.size === 0;
  }

  async write(session: Session): Promise<void> {
    if (this.isEmpty()) return;
    // In one order for all, so that two who put the same values do not wait for each other.
    const blobs = [...this.contents].sort(([a], [b]) => (a < b ? -1 : 1));
    if (session.blobs === undefined) {
      for (const [sha256, content] of blobs) {
        await session.run(put`
          insert into blobs (sha256, content) values (${sha256}, ${content})
          on conflict (sha256) do update set used_at = clock_timestamp()`);
      }
    } else await session.blobs.put(blobs.map(([sha256, content]) => ({ sha256, content })));
    await session.run(refer`
      insert into blob_references (workflow_id, sha256)
      select workflow_id, sha256 from unnest(
        ${sql.array(
          this.references.map(({ executionId }) => executionId),
          'uuid',
        )},
        ${sql.array(
          this.references.map(({ sha256 }) => sha256),
          'text',
        )}
      ) as r (workflow_id, sha256)
      order by workflow_id, sha256
      on conflict do nothing`);
  }
}

/** A lost value is a broken promise of the store: whoever needs it fails with the reason, and never sees nothing instead. */
const contentsOf = async (session: Session, names: readonly string[]): Promise<ReadonlyMap<string, JsonValue>> => {
  const wanted = [...new Set(names)];
  const found =
    session.blobs === undefined
      ? new Map(
          (
            await session.rows(read`
              select sha256, content from blobs where sha256 = any(${sql.array(wanted, 'text')})`)
          ).map(({ sha256, content }) => [sha256, content]),
        )
      : await session.blobs.get(wanted);
  return new Map(
    wanted.map((name) => {
      const content = found.get(name);
      if (content === undefined) throw new DatabaseDefectError(`the offloaded value ${name} is lost`, {});
      return [name, JSON.parse(content)];
    }),
  );
};

/** Fields of an event by the names of the values that stand for them. No user writes at this level of an event. */
type Offloaded = Readonly<Record<string, string>>;
type Stored = Readonly<{ offloaded?: Offloaded }>;

/** An event as the text of its row; what is large in it goes out. */
export const eventText = (executionId: ExecutionId, event: object, out: Offloading): string => {
  const whole = JSON.stringify(event);
  if (!isLarge(whole)) return whole;
  const offloaded: Record<string, string> = {};
  const fields = Object.entries(event).map(([field, value]) => {
    const json = value === undefined ? '' : JSON.stringify(value);
    if (!isLarge(json)) return [field, value];
    offloaded[field] = out.add(executionId, json);
    return [field, null];
  });
  return JSON.stringify({ ...Object.fromEntries(fields), offloaded });
};

/** Puts back what went out of the events of these rows. */
export const withWholeEvents = async <Row extends Readonly<{ event: object }>>(
  session: Session,
  rows: readonly Row[],
): Promise<readonly Row[]> => {
  const names = rows.flatMap(({ event }) => Object.values((event as Stored).offloaded ?? {}));
  if (names.length === 0) return rows;
  const values = await contentsOf(session, names);
  return rows.map((row) => {
    const { offloaded, ...event } = row.event as Stored;
    if (offloaded === undefined) return row;
    const fields = Object.entries(offloaded).map(([field, name]) => [field, values.get(name)]);
    return { ...row, event: { ...event, ...Object.fromEntries(fields) } };
  });
};

/** Input and output of a run are objects, so a string in their place can be nobody's value. */
const MARK = 'offloaded:';

const columnValue = (executionId: ExecutionId, value: JsonObject | undefined, out: Offloading): JsonValue => {
  if (value === undefined) return null;
  const json = JSON.stringify(value);
  return isLarge(json) ? `${MARK}${out.add(executionId, json)}` : value;
};

/** Rows of runs as the one parameter of their statement; what is large in the column goes out. */
export const offloadedRows = async <Column extends 'input' | 'output'>(
  session: Session,
  rows: readonly Readonly<{ workflow_id: ExecutionId } & Partial<Record<Column, JsonObject | undefined>>>[],
  column: Column,
): Promise<string> => {
  const whole = jsonRows(rows);
  if (whole.length <= SURELY_SMALL) return whole;
  const out = new Offloading();
  const small = rows.map((row) => ({ ...row, [column]: columnValue(row.workflow_id, row[column], out) }));
  if (out.isEmpty()) return whole;
  await out.write(session);
  return jsonRows(small);
};

/** The object of a column as it was given. */
export const wholeValue = async (session: Session, value: JsonValue): Promise<JsonObject> => {
  if (typeof value !== 'string') return value as JsonObject;
  const name = value.slice(MARK.length);
  return (await contentsOf(session, [name])).get(name) as JsonObject;
};
