-- Recurring starts, and what became of each firing.

create table schedules (
  id uuid primary key,
  namespace text collate "C" not null,
  name text collate "C" not null,
  workflow_name text collate "C" not null,
  -- What the user registered, as the domain reads it.
  schedule json not null,
  paused boolean not null,
  paused_reason text,
  -- The oldest instant that no firing was decided about, and when that is due.
  next_at timestamptz,
  fire_at timestamptz,
  catch_up_until timestamptz,
  running uuid[] not null,
  attempts integer not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null,
  created_by text not null,
  updated_by text not null,
  constraint schedules_name unique (namespace, name)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index schedules_due on schedules (fire_at, id) where fire_at is not null and not paused;

create table schedule_runs (
  namespace text collate "C" not null,
  name text collate "C" not null,
  id bigint generated always as identity,
  schedule_id uuid not null references schedules (id) on delete cascade,
  workflow_name text collate "C" not null,
  state text collate "C" not null,
  manual boolean not null,
  scheduled_at timestamptz not null,
  workflow_id uuid not null,
  reason text,
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (schedule_id, id),
  constraint schedule_runs_state check (state in ('STARTED', 'FAILED', 'SKIPPED', 'MISSED'))
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- A firing that is decided again, after its schedule was put back, is the same firing.
create unique index schedule_runs_once on schedule_runs (schedule_id, workflow_id, state);
create index schedule_runs_of_namespace on schedule_runs (namespace, id);
