-- Registered schemas. Definitions that name one carry its data, so nothing reads this table while runs go on.
create table definition_schemas (
  namespace text collate "C" not null,
  name text collate "C" not null,
  version integer not null,
  content json not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (namespace, name, version)
);

-- Outputs of tasks that have a cacheConfig, until they expire. The key may be long, so its digest stands for it.
create table task_output_cache (
  namespace text collate "C" not null,
  task_name text collate "C" not null,
  key_digest bytea not null,
  output json not null,
  expires_at timestamptz not null,
  primary key (namespace, task_name, key_digest)
);
create index task_output_cache_by_expiry on task_output_cache (expires_at);

-- Queues with a domain that workers polled of late. Only runs that name several domains for a task read it, and only polls
-- of such queues write it.
create table domain_polls (
  namespace text collate "C" not null,
  queue text collate "C" not null,
  polled_at timestamptz not null,
  primary key (namespace, queue)
);
