import { mkdtempSync, readdirSync } from 'node:fs';
import { rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createBlobFiles } from '../../../src/adapters/files/blob-files.ts';
import { createSystemIds } from '../../../src/adapters/ids/system-ids.ts';
import { openDatabase, type Session } from '../../../src/adapters/postgres/database.ts';
import { appendEvents } from '../../../src/adapters/postgres/event-log.ts';
import { PAYLOAD_INLINE_BYTES_MAX } from '../../../src/domain/execution/payload-limit.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { BLOB_SHARDS } from '../../../src/ports/blob-store.ts';
import { NAMESPACE, type ServerOptions, useCluster } from '../../support/engine.ts';
import { eventsOf, ofType, registerWorkflow, startRun, statusOf } from '../../support/runs.ts';
import { leaseOne, reportOne } from '../../support/workers.ts';
import { step, workflow } from './definitions.ts';
import { countOf } from './given.ts';

const folder = mkdtempSync(join(tmpdir(), 'rondo-blobs-'));
afterAll(() => rm(folder, { recursive: true }));

const DAY_MS = 86_400_000;
/** A value whose JSON is larger than a row may hold; each unit of the text is three bytes. */
const large = (mark: string): JsonObject => ({ mark, text: '€'.repeat(PAYLOAD_INLINE_BYTES_MAX / 3) });

const kinds: readonly (readonly [string, ServerOptions])[] = [
  ['a table', {}],
  ['files', { blobs: () => createBlobFiles(folder) }],
];

describe.each(kinds)('large values, kept in %s', (kind, options) => {
  const { at, cluster } = useCluster(options, { ...options, stepsOnReport: false });

  const rows = (sql: string, values: readonly unknown[] = []) =>
    cluster()
      .observer.query<Record<string, unknown>>(sql, [...values])
      .then((result) => result.rows);
  const widest = async (id: ExecutionId): Promise<number> => {
    const [row] = await rows(
      `select greatest(
         (select max(octet_length(data::text)) from workflow_events where workflow_id = $1),
         (select max(octet_length(input::text)) from workflow_executions where workflow_id = $1),
         (select max(octet_length(output::text)) from workflow_executions where workflow_id = $1)
       ) as widest`,
      [id],
    );
    return Number(row?.widest);
  };
  const kept = async (): Promise<number> =>
    kind === 'files'
      ? readdirSync(folder, { recursive: true }).filter((name) => /[0-9a-f]{64}$/.test(String(name))).length
      : countOf(cluster().observer, 'select count(*) from blobs');
  const collect = async (idleMs: number): Promise<number> => {
    let removed = 0;
    for (let shard = 0; shard < BLOB_SHARDS; shard += 1) removed += await at(0).blobs.collect(shard, idleMs);
    return removed;
  };
  const age = async (): Promise<void> => {
    await rows(`update blobs set used_at = used_at - interval '2 days'`);
    const then = new Date(Date.now() - 2 * DAY_MS);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    await Promise.all(files.map((each) => utimes(join(each.parentPath, each.name), then, then)));
  };
  const run = async (name: string, input: JsonObject, output: JsonObject): Promise<ExecutionId> => {
    const outputParameters = { given: '${workflow.input}', got: '${s1.output}' };
    const second = step(name, 's2', { inputParameters: { text: '${s1.output.text}' } });
    await registerWorkflow(at(0), workflow(name, [step(name, 's1'), second], { outputParameters }));
    const id = await startRun(at(0), name, { input });
    await reportOne(at(0), await leaseOne(at(0), name), { output });
    await at(0).evaluateAll();
    return id;
  };
  const end = async (name: string): Promise<void> => {
    // At another server, which has to fold the log.
    await reportOne(at(1), await leaseOne(at(1), name));
    await at(1).evaluateAll();
  };

  it('stand nowhere in the rows of the history, and everywhere in what is read', async () => {
    const [input, output] = [large('input'), large('output')];
    const id = await run('whole', input, output);
    const task = await leaseOne(at(1), 'whole');
    expect(task.input).toEqual({ text: output.text });
    await reportOne(at(1), task);
    await at(1).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    expect(await widest(id)).toBeLessThan(10_000);
    const detail = await at(0).useCases.executions.get(NAMESPACE, id);
    if (!detail.ok) throw new Error(detail.error.message);
    expect(detail.value.row).toMatchObject({ input, output: { given: input, got: output } });
    expect(detail.value.view.tasks[0]?.output).toEqual(output);
    const log = await eventsOf(at(0), id);
    expect(ofType(log, 'ExecutionStarted')[0]?.input).toEqual(input);
    expect(JSON.stringify(log)).not.toContain('offloaded');
    const past = await at(0).useCases.executions.stateAt(NAMESPACE, id, 3);
    expect(past.ok && past.value.input).toEqual(input);
    const replayed = await at(0).useCases.executions.replay(NAMESPACE, id);
    expect(replayed.ok && replayed.value.difference).toBeUndefined();
    const preview = await at(0).useCases.executions.replay(NAMESPACE, id, 1);
    expect(preview.ok && preview.value.difference).toBeUndefined();
  });

  it('are kept once however many runs have them, and are removed when none refers to them any more', async () => {
    await collect(0);
    const before = await kept();
    const first = await run('shared', large('shared'), {});
    const second = await startRun(at(0), 'shared', { input: large('shared') });
    expect(await kept()).toBe(before + 1);
    await end('shared');
    await reportOne(at(0), await leaseOne(at(0), 'shared'));
    await at(0).evaluateAll();
    await end('shared');
    const remove = (id: ExecutionId) => at(0).useCases.executions.delete(NAMESPACE, id);
    // The outputs of the two, which hold it, are one value too.
    const all = await kept();
    expect((await remove(first)).ok).toBe(true);
    expect(await collect(0)).toBe(0);
    expect((await remove(second)).ok).toBe(true);
    expect(await collect(DAY_MS)).toBe(0);
    expect(await kept()).toBe(all);
    expect(await collect(0)).toBe(all - before);
    expect(await kept()).toBe(before);
  });

  it('that somebody is about to refer to are not removed', async () => {
    await collect(0);
    const before = await kept();
    const id = await run('pending', large('pending'), {});
    await end('pending');
    await at(0).useCases.executions.delete(NAMESPACE, id);
    await age();
    const executionId = createSystemIds(systemClock).executionId();
    const start = { executionId, namespace: NAMESPACE, definitionHash: 'h', name: 'pending', version: 1, priority: 0 };
    const startedAt = await at(0).engine.now();
    const removed = await at(1).engine.transaction(async (tx) => {
      await tx.createExecutions([{ ...start, input: large('pending'), startedAt }]);
      return collect(DAY_MS);
    });
    // The output of the run that is gone.
    expect(removed).toBe(1);
    expect(await collect(DAY_MS)).toBe(0);
    expect(await kept()).toBe(before + 1);
    expect((await at(0).index.find(NAMESPACE, executionId))?.input).toEqual(large('pending'));
  });

  it('cannot be had by naming them: what a user writes is the value of the user', async () => {
    const secret = await run('secret', large('secret'), {});
    const [row] = await rows('select sha256 from blob_references where workflow_id = $1', [secret]);
    const forged = { offloaded: { output: row?.sha256, input: row?.sha256 }, text: `offloaded:${String(row?.sha256)}` };
    const id = await run('forged', forged as JsonObject, forged as JsonObject);
    const detail = await at(1).useCases.executions.get(NAMESPACE, id);
    expect(detail.ok && detail.value.row.input).toEqual(forged);
    expect(detail.ok && detail.value.view.tasks[0]?.output).toEqual(forged);
  });

  it('that are lost are never taken for nothing: the run is parked with the reason', async () => {
    const id = await run('lost', large('lost'), {});
    const references = await rows('select sha256 from blob_references where workflow_id = $1', [id]);
    await rows('delete from blob_references where workflow_id = $1', [id]);
    await collect(0);
    await reportOne(at(1), await leaseOne(at(1), 'lost'));
    await at(1).evaluateAll();
    expect(at(1).problems.join()).toContain(`the offloaded value ${String(references[0]?.sha256)} is lost`);
    expect(await rows('select status from workflow_executions where workflow_id = $1', [id])).toEqual([
      { status: 'RUNNING' },
    ]);
  });
});

describe('small values', () => {
  const { cluster } = useCluster({});

  it('cost the history no statement', async () => {
    const database = await openDatabase({ url: cluster().url, poolMax: 1 });
    const statements: (string | undefined)[] = [];
    const counting: Session = {
      ...database,
      run: (statement) => {
        statements.push(statement.name);
        return database.run(statement);
      },
    };
    const append = (seq: number, by: string) =>
      appendEvents(counting, [
        {
          namespace: NAMESPACE,
          executionId: '01999999-0000-7000-8000-000000000000' as ExecutionId,
          item: { seq, event: { type: 'ExecutionPaused', at: 0 as never, by } },
        },
      ]);
    await append(1, 'x'.repeat(PAYLOAD_INLINE_BYTES_MAX - 100));
    expect(statements).toHaveLength(1);
    await append(2, 'x'.repeat(PAYLOAD_INLINE_BYTES_MAX));
    expect(statements).toHaveLength(4);
    await database.close();
  });
});
