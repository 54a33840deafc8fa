-- Limits on runs that are going at a time. Only a run whose definition declares a limit has a row here, from its start to
-- its end: a place that it holds, or that it waits for. Ended runs have none, so the table is as small as what is going.

create table execution_admissions (
  workflow_id uuid not null,
  -- DEFINITION: maxConcurrentExecutions; KEY: rateLimitConfig.
  kind text collate "C" not null,
  namespace text collate "C" not null,
  name text collate "C" not null,
  key text collate "C" not null,
  runs_max integer not null,
  admitted boolean not null,
  -- Given out under the lock of the key: who came first is first.
  position bigint not null generated always as identity,
  -- A queued run that could not be admitted lets the others by until then.
  not_before timestamptz not null default clock_timestamp(),
  primary key (workflow_id, kind),
  constraint execution_admissions_kind check (kind in ('DEFINITION', 'KEY'))
) with (
  fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
create index execution_admissions_held on execution_admissions (namespace, name, key, kind) where admitted;
create index execution_admissions_queued on execution_admissions (namespace, name, key, kind, position) where not admitted;

-- A namespace without a row, or without a number, has no quota. A start looks for a row in a statement that it sends anyway.
create table namespace_quotas (
  namespace text collate "C" not null primary key,
  max_concurrent_executions integer,
  max_executions_per_minute integer,
  max_workflow_definitions integer,
  max_schedules integer,
  -- The minute that is counted, and the starts in it.
  minute timestamptz not null default clock_timestamp(),
  minute_starts integer not null default 0,
  updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
