-- What holds a ready task back: limits of its definition, semaphores of the namespace, and the order of the queue.

alter table task_definitions
  add column rate_leases integer not null default 0,
  add column rate_window_seconds integer not null default 1,
  add column semaphores text[] collate "C" not null default '{}';
alter table task_definitions
  add column gated boolean not null generated always as (
    concurrent_exec_limit > 0 or rate_leases > 0 or semaphores <> '{}'
  ) stored;
-- Every lease asks which of its tasks are held back by anything; hardly any is.
drop index task_definitions_limited;
create index task_definitions_gated on task_definitions (namespace, name) where gated;

create table semaphores (
  namespace text collate "C" not null,
  name text collate "C" not null,
  permits integer not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (namespace, name),
  constraint semaphores_permits check (permits >= 0)
);

-- One row a task with a rate limit: the window in which it was leased last.
create table rate_windows (
  namespace text collate "C" not null,
  task_name text collate "C" not null,
  opened_at timestamptz not null,
  closes_at timestamptz not null,
  used integer not null,
  primary key (namespace, task_name)
) with (fillfactor = 50);

-- Closed attempts of ten seconds, and how many of them were retried: written every few seconds, never by a pass.
create table retry_statistics (
  namespace text collate "C" not null,
  task_name text collate "C" not null,
  bucket_at timestamptz not null,
  attempts integer not null,
  retries integer not null,
  primary key (namespace, task_name, bucket_at)
) with (fillfactor = 70);

-- The permits that a lease holds are a part of its row: they go with it, whatever ends it.
alter table task_queue
  add column permits text[] collate "C",
  add column turn bigint not null default 0;
create index task_queue_permits on task_queue (namespace) where permits is not null;

-- The order within a queue is the turn that a task was given, in microseconds; see fair-turns.ts.
update task_queue set turn = floor(extract(epoch from scheduled_at) * 1000000);
drop index task_queue_ready;
create index task_queue_ready on task_queue (
  namespace, queue, priority desc, turn, workflow_id, scheduled_seq, visible_at
) where lease_token is null and family = 'worker';
drop index task_queue_ready_system;
create index task_queue_ready_system on task_queue (
  queue, priority desc, turn, workflow_id, scheduled_seq, visible_at
) where lease_token is null and family = 'system';
