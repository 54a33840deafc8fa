-- What the doors to the outside need: a key that all servers share, callbacks found by their namespace, the dead letters of a
-- namespace, and what was sent to the internal sink.

-- Drawn by the first server, and the same for all that come after.
create table server_keys (
  purpose text collate "C" primary key,
  secret text not null,
  created_at timestamptz not null default clock_timestamp()
);

-- Holds only tasks that wait for a webhook. The type of a row never changes, so its outcome is still set within the page.
create index task_queue_webhooks on task_queue (namespace, workflow_id, scheduled_seq)
  where task_type = 'WAIT_FOR_WEBHOOK';

create index outbox_events_dead on outbox_events (namespace, id) where dead_at is not null;

create table internal_events (
  namespace text collate "C" not null,
  sink text collate "C" not null,
  id bigint generated always as identity,
  workflow_id uuid not null,
  message_id text collate "C" not null,
  payload json not null,
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (namespace, sink, id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
