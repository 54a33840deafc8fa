-- What is done about internal events, and what each message did.

create table event_handlers (
  namespace text collate "C" not null,
  name text collate "C" not null,
  event text collate "C" not null,
  active boolean not null,
  -- What the user registered, as the domain reads it.
  handler json not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by text not null,
  updated_by text not null,
  primary key (namespace, name)
);
create index event_handlers_of_event on event_handlers (namespace, event, name) where active;

create table event_handler_runs (
  namespace text collate "C" not null,
  handler text collate "C" not null,
  message_id text collate "C" not null,
  id bigint generated always as identity,
  event text collate "C" not null,
  state text collate "C" not null,
  reason text,
  actions json not null,
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (namespace, handler, message_id),
  constraint event_handler_runs_state check (state in ('ACTED', 'PASSED_OVER', 'DUPLICATE', 'FAILED'))
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index event_handler_runs_newest on event_handler_runs (namespace, handler, id);
create index event_handler_runs_of_namespace on event_handler_runs (namespace, id);

-- Ids that messages were acted upon under; of messages from outside the handler is the empty name.
create table event_dedupes (
  namespace text collate "C" not null,
  handler text collate "C" not null,
  dedupe_id text collate "C" not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (namespace, handler, dedupe_id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index event_dedupes_old on event_dedupes (namespace, handler, seen_at);

-- An event that was published from outside has no run.
alter table internal_events alter column workflow_id drop not null;
