-- Tags of things with a name. Few a thing; read when somebody asks for the thing, never by a pass or a worker.

create table tags (
  namespace text collate "C" not null,
  -- WORKFLOW, TASK, SCHEDULE, EVENT_HANDLER, SECRET, ENVIRONMENT.
  kind text collate "C" not null,
  name text collate "C" not null,
  key text collate "C" not null,
  value text collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (namespace, kind, name, key, value)
);

-- A worker may give an attempt back, to be leased again after a time: how often it did, and the seconds it asked for last.
-- Absent in nearly every row.
alter table task_queue add column callbacks integer, add column callback_seconds integer;
