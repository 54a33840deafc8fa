import pg from 'pg';
import { createPostgresStores } from '../../src/adapters/postgres/stores.ts';
import { allowUnsafeDurability, createTestDatabase } from '../support/postgres.ts';
import type { Harness, OpenHarness, RecordedAttempt } from './harness.ts';

/** Every instant that a decision of the store depends on; moving them back is how time passes here. */
const INSTANTS = {
  task_queue: ['visible_at', 'lease_expires_at'],
  timers: ['fire_at'],
  decide_queue: ['due_at'],
  outbox_events: ['available_at'],
  workflow_executions: ['updated_at'],
  task_output_cache: ['expires_at'],
  domain_polls: ['polled_at'],
  worker_polls: ['polled_at'],
  execution_admissions: ['not_before'],
  namespace_quotas: ['minute'],
  rate_windows: ['opened_at', 'closes_at'],
  retry_statistics: ['bucket_at'],
  external_payloads: ['uploaded_at'],
  schedules: ['next_at', 'fire_at'],
  event_dedupes: ['seen_at'],
} as const;

const TABLES = [
  'namespaces',
  'api_keys',
  'workflow_definitions',
  'task_definitions',
  'definition_bundles',
  'definition_schemas',
  'task_output_cache',
  'domain_polls',
  'blobs',
  'blob_references',
  'worker_polls',
  'workflow_executions',
  'workflow_events',
  'task_executions',
  'task_logs',
  'decide_queue',
  'task_queue',
  'timers',
  'outbox_events',
  'idempotency_keys',
  'server_keys',
  'internal_events',
  'execution_admissions',
  'namespace_quotas',
  'semaphores',
  'rate_windows',
  'retry_statistics',
  'tags',
  'external_payloads',
  'schedules',
  'event_handlers',
  'event_handler_runs',
  'event_dedupes',
  'schedule_runs',
  'named_values',
];

const advance = async (client: pg.Client, ms: number): Promise<void> => {
  for (const [table, columns] of Object.entries(INSTANTS)) {
    const moved = columns.map((column) => `${column} = ${column} - interval '${ms} milliseconds'`);
    await client.query(`update ${table} set ${moved.join(', ')}`);
  }
};

const closedTasks = async (client: pg.Client, executionId: string): Promise<readonly RecordedAttempt[]> => {
  const { rows } = await client.query<RecordedAttempt>(
    `select ref, iteration, attempt, status from task_executions
      where workflow_id = $1 order by ref, iteration, attempt`,
    [executionId],
  );
  return rows;
};

/** With the connection that looks on; `prepare` has it before the stores connect. */
export const openPostgres = async (
  prepare: (client: pg.Client) => Promise<unknown> = async () => undefined,
): Promise<OpenHarness & Readonly<{ client: pg.Client }>> => {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await prepare(client);
  const { close, ...stores } = await createPostgresStores({
    url: database.url,
    poolMax: 5,
    allowUnsafeDurability: allowUnsafeDurability(),
  });
  return {
    ...stores,
    client,
    advance: (ms) => advance(client, ms),
    closedTasks: (executionId) => closedTasks(client, executionId),
    reset: async () => {
      await client.query(`truncate ${TABLES.join(', ')}`);
    },
    close: async () => {
      await close();
      await client.end();
      await database.drop();
    },
  };
};

export const postgresHarness: Harness = { name: 'PostgreSQL', open: () => openPostgres() };
