-- Rondo's tables. Ids of runs are UUIDv7, so ranges of them are ranges of time: what is kept for history is partitioned
-- by them, and retention is a dropped partition. What is searched across runs on the hot path is small and is not.
-- Text that is a key compares by its bytes, so no upgrade of a collation can corrupt an index.
-- Payloads are json and not jsonb: nothing here looks inside them, and json keeps the text as it came.

create table namespaces (
  namespace text collate "C" primary key,
  created_at timestamptz not null default clock_timestamp()
);

create table api_keys (
  id text collate "C" primary key,
  namespace text collate "C" not null,
  name text not null,
  prefix text collate "C" not null unique,
  digest text collate "C" not null,
  scopes text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_by_namespace on api_keys (namespace, created_at, id);

create table workflow_definitions (
  namespace text collate "C" not null,
  name text collate "C" not null,
  version integer not null,
  hash text collate "C" not null,
  content json not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (namespace, name, version)
);

create table task_definitions (
  namespace text collate "C" not null,
  name text collate "C" not null,
  content json not null,
  concurrent_exec_limit integer not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (namespace, name)
);
-- Every lease asks which of its queues have a limit; hardly any has.
create index task_definitions_limited on task_definitions (namespace, name) include (concurrent_exec_limit)
  where concurrent_exec_limit > 0;

create table definition_bundles (
  hash text collate "C" primary key,
  content json not null,
  created_at timestamptz not null default clock_timestamp()
);

create table workflow_executions (
  workflow_id uuid not null,
  namespace text collate "C" not null,
  name text collate "C" not null,
  version integer not null,
  status text collate "C" not null,
  definition_hash text collate "C" not null,
  priority integer not null,
  correlation_id text collate "C",
  idempotency_key text collate "C",
  parent_id uuid,
  input json not null,
  output json,
  reason text,
  failed_task text,
  started_at timestamptz not null,
  updated_at timestamptz not null,
  ended_at timestamptz,
  primary key (workflow_id),
  constraint workflow_executions_status check (
    status in ('RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED')
  )
) partition by range (workflow_id);
create table workflow_executions_default partition of workflow_executions default
  with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create index workflow_executions_newest on workflow_executions (namespace, started_at desc, workflow_id desc);
create index workflow_executions_by_name on workflow_executions (namespace, name, started_at desc, workflow_id desc);
create index workflow_executions_by_correlation on workflow_executions (namespace, correlation_id)
  where correlation_id is not null;
create index workflow_executions_by_parent on workflow_executions (parent_id)
  where parent_id is not null;
create index workflow_executions_running on workflow_executions (namespace, started_at desc, workflow_id desc)
  where status in ('RUNNING', 'PAUSED');
create index workflow_executions_failing on workflow_executions (namespace, started_at desc, workflow_id desc)
  where status in ('FAILED', 'TIMED_OUT', 'TERMINATED');

create table workflow_events (
  workflow_id uuid not null,
  seq bigint not null,
  namespace text collate "C" not null,
  data json not null,
  primary key (workflow_id, seq)
) partition by range (workflow_id);
create table workflow_events_default partition of workflow_events default
  with (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);

create table task_executions (
  workflow_id uuid not null,
  ref text collate "C" not null,
  iteration integer not null,
  attempt integer not null,
  namespace text collate "C" not null,
  scheduled_seq bigint not null,
  task_type text collate "C" not null,
  task_name text collate "C" not null,
  status text collate "C" not null,
  reason text,
  worker_id text,
  scheduled_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz not null,
  -- Of the token and the body of the report that ended it: the same report again is no lost lease.
  report_hash bigint,
  primary key (workflow_id, ref, iteration, attempt)
) partition by range (workflow_id);
create table task_executions_default partition of task_executions default
  with (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);

create sequence task_logs_line_number;
create table task_logs (
  workflow_id uuid not null,
  scheduled_seq bigint not null,
  line_number bigint not null default nextval('task_logs_line_number'),
  namespace text collate "C" not null,
  logged_at timestamptz not null,
  line text not null,
  primary key (workflow_id, scheduled_seq, line_number)
) partition by range (workflow_id);
create table task_logs_default partition of task_logs default
  with (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);

-- One row a workflow that awaits a pass: the primary key is the dedupe. It tells which attempts were reported since the
-- last pass, so that nothing of an outcome is in an index, and a report rewrites its row in place.
create table decide_queue (
  workflow_id uuid primary key,
  due_at timestamptz not null,
  attempts integer not null default 0,
  reason text,
  reported bigint[] not null default '{}'
) with (
  fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
create index decide_queue_due on decide_queue (due_at);

-- One row an open attempt: queue entry, lease, progress and mailbox for the outcome in one row, so that these can never
-- disagree. The pass that records the outcome deletes it. No index and no predicate of one holds a column of the outcome:
-- to set it is a change within the page. A row has three versions in its short life, of which the first two are often not
-- to be removed before the third is written: the page has room for them.
create table task_queue (
  workflow_id uuid not null,
  scheduled_seq bigint not null,
  namespace text collate "C" not null,
  ref text collate "C" not null,
  iteration integer not null,
  attempt integer not null,
  family text collate "C" not null,
  task_type text collate "C" not null,
  task_name text collate "C" not null,
  queue text collate "C" not null,
  priority integer not null,
  input json,
  visible_at timestamptz not null,
  scheduled_at timestamptz not null,
  heartbeat_ms bigint not null,
  start_to_close_ms bigint not null,
  alert_only boolean not null,
  lease_token uuid,
  worker_id text,
  lease_expires_at timestamptz,
  started_at timestamptz,
  progress json,
  outcome text collate "C",
  outcome_output json,
  outcome_reason text,
  outcome_deadline text collate "C",
  outcome_at timestamptz,
  primary key (workflow_id, scheduled_seq),
  -- Not led by the run: what looks a row up by its key finds one index that could serve, whatever the statistics say.
  constraint task_queue_identity unique (iteration, workflow_id, ref, attempt),
  constraint task_queue_family check (family in ('worker', 'system', 'waiting')),
  constraint task_queue_lease_is_whole check (
    (lease_token is null) = (lease_expires_at is null) and (lease_token is null or worker_id is not null)
  )
) with (
  fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
-- Each leasable row is in one of the two: the runner of system tasks serves all namespaces at once, a worker one.
create index task_queue_ready on task_queue (
  namespace, queue, priority desc, scheduled_at, workflow_id, scheduled_seq, visible_at
) where lease_token is null and family = 'worker';
create index task_queue_ready_system on task_queue (
  queue, priority desc, scheduled_at, workflow_id, scheduled_seq, visible_at
) where lease_token is null and family = 'system';
-- Not "where lease_token is not null": a fenced write would match that too, and the planner, seeing few rows there the last
-- time it looked, would walk all leases for each task it is to find by its key.
create index task_queue_leases on task_queue (lease_expires_at)
  where lease_expires_at is not null;

create table timers (
  workflow_id uuid not null,
  ref text collate "C" not null,
  iteration integer not null,
  attempt integer not null,
  purpose text collate "C" not null,
  namespace text collate "C" not null,
  fire_at timestamptz not null,
  under_lock boolean not null,
  primary key (workflow_id, ref, iteration, attempt, purpose),
  constraint timers_purpose check (
    purpose in ('WAIT', 'EXECUTION', 'SCHEDULE_TO_START', 'START_TO_CLOSE', 'SCHEDULE_TO_CLOSE')
  )
) with (
  fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
-- Deadlines of runs, and those that only alert, wait for the lock of the run: they stand in a line of their own, so that
-- they hold up no task.
create index timers_due on timers (under_lock, fire_at);

create table outbox_events (
  id bigint generated always as identity primary key,
  workflow_id uuid not null,
  namespace text collate "C" not null,
  topic text collate "C" not null,
  dedup_key text collate "C" not null,
  ordering_key text collate "C" not null,
  payload json not null,
  attempts integer not null default 0,
  available_at timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default clock_timestamp(),
  dead_at timestamptz,
  last_failure text,
  constraint outbox_events_dedup unique (workflow_id, dedup_key)
) with (
  fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
-- A dead letter leaves both, so that the relay's path stays short however many there are.
create index outbox_events_due on outbox_events (available_at, id) where dead_at is null;
create index outbox_events_in_order on outbox_events (namespace, ordering_key, id) where dead_at is null;

-- Never partitioned: a unique index of a partitioned table holds the partition key, and would constrain nothing.
create table idempotency_keys (
  namespace text collate "C" not null,
  key text collate "C" not null,
  workflow_id uuid not null,
  fingerprint text collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (namespace, key)
);
