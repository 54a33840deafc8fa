-- When each worker last polled each queue, for people and for "why is it not running?". Each server writes what has changed
-- every few seconds with one statement; no poll writes it, and nothing decides from it.
create table worker_polls (
  namespace text collate "C" not null,
  queue text collate "C" not null,
  worker_id text collate "C" not null,
  polled_at timestamptz not null,
  primary key (namespace, queue, worker_id)
);
