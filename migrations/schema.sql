-- What the migrations lead to, read from the catalog. Written by the test of the migrations, never by hand.

create sequence task_logs_line_number;

create table api_keys (
  id text collate "C" not null,
  namespace text collate "C" not null,
  name text not null,
  prefix text collate "C" not null,
  digest text collate "C" not null,
  scopes text[] not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_keys_prefix_key UNIQUE (prefix),
  constraint api_keys_pkey PRIMARY KEY (id)
);
CREATE INDEX api_keys_by_namespace ON public.api_keys USING btree (namespace, created_at, id);

create table blob_references (
  workflow_id uuid not null,
  sha256 text collate "C" not null,
  constraint blob_references_pkey PRIMARY KEY (workflow_id, sha256)
);
CREATE INDEX blob_references_by_value ON public.blob_references USING btree (sha256);

create table blobs (
  sha256 text collate "C" not null,
  content text not null,
  used_at timestamp with time zone not null default clock_timestamp(),
  constraint blobs_pkey PRIMARY KEY (sha256)
);

create table decide_queue (
  workflow_id uuid not null,
  due_at timestamp with time zone not null,
  attempts integer not null default 0,
  reason text,
  reported bigint[] not null default '{}'::bigint[],
  constraint decide_queue_pkey PRIMARY KEY (workflow_id)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=5000, autovacuum_vacuum_cost_delay=0);
CREATE INDEX decide_queue_due ON public.decide_queue USING btree (due_at);

create table definition_bundles (
  hash text collate "C" not null,
  content json not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint definition_bundles_pkey PRIMARY KEY (hash)
);

create table definition_schemas (
  namespace text collate "C" not null,
  name text collate "C" not null,
  version integer not null,
  content json not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint definition_schemas_pkey PRIMARY KEY (namespace, name, version)
);

create table domain_polls (
  namespace text collate "C" not null,
  queue text collate "C" not null,
  polled_at timestamp with time zone not null,
  constraint domain_polls_pkey PRIMARY KEY (namespace, queue)
);

create table event_dedupes (
  namespace text collate "C" not null,
  handler text collate "C" not null,
  dedupe_id text collate "C" not null,
  seen_at timestamp with time zone not null default clock_timestamp(),
  constraint event_dedupes_pkey PRIMARY KEY (namespace, handler, dedupe_id)
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);
CREATE INDEX event_dedupes_old ON public.event_dedupes USING btree (namespace, handler, seen_at);

create table event_handler_runs (
  namespace text collate "C" not null,
  handler text collate "C" not null,
  message_id text collate "C" not null,
  id bigint not null generated always as identity,
  event text collate "C" not null,
  state text collate "C" not null,
  reason text,
  actions json not null,
  recorded_at timestamp with time zone not null default clock_timestamp(),
  constraint event_handler_runs_pkey PRIMARY KEY (namespace, handler, message_id),
  constraint event_handler_runs_state CHECK ((state = ANY (ARRAY['ACTED'::text, 'PASSED_OVER'::text, 'DUPLICATE'::text, 'FAILED'::text])))
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);
CREATE INDEX event_handler_runs_newest ON public.event_handler_runs USING btree (namespace, handler, id);
CREATE INDEX event_handler_runs_of_namespace ON public.event_handler_runs USING btree (namespace, id);

create table event_handlers (
  namespace text collate "C" not null,
  name text collate "C" not null,
  event text collate "C" not null,
  active boolean not null,
  handler json not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  created_by text not null,
  updated_by text not null,
  constraint event_handlers_pkey PRIMARY KEY (namespace, name)
);
CREATE INDEX event_handlers_of_event ON public.event_handlers USING btree (namespace, event, name) WHERE active;

create table execution_admissions (
  workflow_id uuid not null,
  kind text collate "C" not null,
  namespace text collate "C" not null,
  name text collate "C" not null,
  key text collate "C" not null,
  runs_max integer not null,
  admitted boolean not null,
  position bigint not null generated always as identity,
  not_before timestamp with time zone not null default clock_timestamp(),
  constraint execution_admissions_pkey PRIMARY KEY (workflow_id, kind),
  constraint execution_admissions_kind CHECK ((kind = ANY (ARRAY['DEFINITION'::text, 'KEY'::text])))
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=5000, autovacuum_vacuum_cost_delay=0);
CREATE INDEX execution_admissions_held ON public.execution_admissions USING btree (namespace, name, key, kind) WHERE admitted;
CREATE INDEX execution_admissions_queued ON public.execution_admissions USING btree (namespace, name, key, kind, "position") WHERE (NOT admitted);

create table external_payloads (
  namespace text collate "C" not null,
  path text collate "C" not null,
  content json not null,
  uploaded_at timestamp with time zone not null default clock_timestamp(),
  constraint external_payloads_pkey PRIMARY KEY (namespace, path)
);
CREATE INDEX external_payloads_by_age ON public.external_payloads USING btree (uploaded_at);

create table idempotency_keys (
  namespace text collate "C" not null,
  key text collate "C" not null,
  workflow_id uuid not null,
  fingerprint text collate "C" not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint idempotency_keys_pkey PRIMARY KEY (namespace, key)
);

create table internal_events (
  namespace text collate "C" not null,
  sink text collate "C" not null,
  id bigint not null generated always as identity,
  workflow_id uuid,
  message_id text collate "C" not null,
  payload json not null,
  recorded_at timestamp with time zone not null default clock_timestamp(),
  constraint internal_events_pkey PRIMARY KEY (namespace, sink, id)
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);

create table named_values (
  namespace text collate "C" not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  value text not null,
  key_id text collate "C",
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint named_values_pkey PRIMARY KEY (namespace, kind, name),
  constraint named_values_sealed CHECK (((kind = 'SECRET'::text) = (key_id IS NOT NULL)))
);

create table namespace_quotas (
  namespace text collate "C" not null,
  max_concurrent_executions integer,
  max_executions_per_minute integer,
  max_workflow_definitions integer,
  max_schedules integer,
  minute timestamp with time zone not null default clock_timestamp(),
  minute_starts integer not null default 0,
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint namespace_quotas_pkey PRIMARY KEY (namespace)
) with (fillfactor=50);

create table namespaces (
  namespace text collate "C" not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint namespaces_pkey PRIMARY KEY (namespace)
);

create table outbox_events (
  id bigint not null generated always as identity,
  workflow_id uuid not null,
  namespace text collate "C" not null,
  topic text collate "C" not null,
  dedup_key text collate "C" not null,
  ordering_key text collate "C" not null,
  payload json not null,
  attempts integer not null default 0,
  available_at timestamp with time zone not null default clock_timestamp(),
  created_at timestamp with time zone not null default clock_timestamp(),
  dead_at timestamp with time zone,
  last_failure text,
  constraint outbox_events_dedup UNIQUE (workflow_id, dedup_key),
  constraint outbox_events_pkey PRIMARY KEY (id)
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=5000, autovacuum_vacuum_cost_delay=0);
CREATE INDEX outbox_events_dead ON public.outbox_events USING btree (namespace, id) WHERE (dead_at IS NOT NULL);
CREATE INDEX outbox_events_due ON public.outbox_events USING btree (available_at, id) WHERE (dead_at IS NULL);
CREATE INDEX outbox_events_in_order ON public.outbox_events USING btree (namespace, ordering_key, id) WHERE (dead_at IS NULL);

create table rate_windows (
  namespace text collate "C" not null,
  task_name text collate "C" not null,
  opened_at timestamp with time zone not null,
  closes_at timestamp with time zone not null,
  used integer not null,
  constraint rate_windows_pkey PRIMARY KEY (namespace, task_name)
) with (fillfactor=50);

create table retry_statistics (
  namespace text collate "C" not null,
  task_name text collate "C" not null,
  bucket_at timestamp with time zone not null,
  attempts integer not null,
  retries integer not null,
  constraint retry_statistics_pkey PRIMARY KEY (namespace, task_name, bucket_at)
) with (fillfactor=70);

create table schedule_runs (
  namespace text collate "C" not null,
  name text collate "C" not null,
  id bigint not null generated always as identity,
  schedule_id uuid not null,
  workflow_name text collate "C" not null,
  state text collate "C" not null,
  manual boolean not null,
  scheduled_at timestamp with time zone not null,
  workflow_id uuid not null,
  reason text,
  recorded_at timestamp with time zone not null default clock_timestamp(),
  constraint schedule_runs_pkey PRIMARY KEY (schedule_id, id),
  constraint schedule_runs_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES schedules(id) ON DELETE CASCADE,
  constraint schedule_runs_state CHECK ((state = ANY (ARRAY['STARTED'::text, 'FAILED'::text, 'SKIPPED'::text, 'MISSED'::text])))
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);
CREATE INDEX schedule_runs_of_namespace ON public.schedule_runs USING btree (namespace, id);
CREATE UNIQUE INDEX schedule_runs_once ON public.schedule_runs USING btree (schedule_id, workflow_id, state);

create table schedules (
  id uuid not null,
  namespace text collate "C" not null,
  name text collate "C" not null,
  workflow_name text collate "C" not null,
  schedule json not null,
  paused boolean not null,
  paused_reason text,
  next_at timestamp with time zone,
  fire_at timestamp with time zone,
  catch_up_until timestamp with time zone,
  running uuid[] not null,
  attempts integer not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null,
  created_by text not null,
  updated_by text not null,
  constraint schedules_name UNIQUE (namespace, name),
  constraint schedules_pkey PRIMARY KEY (id)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);
CREATE INDEX schedules_due ON public.schedules USING btree (fire_at, id) WHERE ((fire_at IS NOT NULL) AND (NOT paused));

create table schema_migrations (
  version integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null default clock_timestamp(),
  constraint schema_migrations_pkey PRIMARY KEY (version)
);

create table semaphores (
  namespace text collate "C" not null,
  name text collate "C" not null,
  permits integer not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint semaphores_pkey PRIMARY KEY (namespace, name),
  constraint semaphores_permits CHECK ((permits >= 0))
);

create table server_keys (
  purpose text collate "C" not null,
  secret text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint server_keys_pkey PRIMARY KEY (purpose)
);

create table tags (
  namespace text collate "C" not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  key text collate "C" not null,
  value text collate "C" not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint tags_pkey PRIMARY KEY (namespace, kind, name, key, value)
);

create table task_definitions (
  namespace text collate "C" not null,
  name text collate "C" not null,
  content json not null,
  concurrent_exec_limit integer not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  rate_leases integer not null default 0,
  rate_window_seconds integer not null default 1,
  semaphores text[] collate "C" not null default '{}'::text[],
  gated boolean not null default ((concurrent_exec_limit > 0) OR (rate_leases > 0) OR (semaphores <> '{}'::text[])),
  constraint task_definitions_pkey PRIMARY KEY (namespace, name)
);
CREATE INDEX task_definitions_gated ON public.task_definitions USING btree (namespace, name) WHERE gated;

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
  scheduled_at timestamp with time zone not null,
  started_at timestamp with time zone,
  ended_at timestamp with time zone not null,
  report_hash bigint,
  constraint task_executions_pkey PRIMARY KEY (workflow_id, ref, iteration, attempt)
) partition by RANGE (workflow_id);

create table task_executions_default partition of task_executions default with (autovacuum_vacuum_insert_scale_factor=0.1, autovacuum_analyze_scale_factor=0.05);

create table task_logs (
  workflow_id uuid not null,
  scheduled_seq bigint not null,
  line_number bigint not null default nextval('task_logs_line_number'::regclass),
  namespace text collate "C" not null,
  logged_at timestamp with time zone not null,
  line text not null,
  constraint task_logs_pkey PRIMARY KEY (workflow_id, scheduled_seq, line_number)
) partition by RANGE (workflow_id);

create table task_logs_default partition of task_logs default with (autovacuum_vacuum_insert_scale_factor=0.1, autovacuum_analyze_scale_factor=0.05);

create table task_output_cache (
  namespace text collate "C" not null,
  task_name text collate "C" not null,
  key_digest bytea not null,
  output json not null,
  expires_at timestamp with time zone not null,
  constraint task_output_cache_pkey PRIMARY KEY (namespace, task_name, key_digest)
);
CREATE INDEX task_output_cache_by_expiry ON public.task_output_cache USING btree (expires_at);

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
  visible_at timestamp with time zone not null,
  scheduled_at timestamp with time zone not null,
  heartbeat_ms bigint not null,
  start_to_close_ms bigint not null,
  alert_only boolean not null,
  lease_token uuid,
  worker_id text,
  lease_expires_at timestamp with time zone,
  started_at timestamp with time zone,
  progress json,
  outcome text collate "C",
  outcome_output json,
  outcome_reason text,
  outcome_deadline text collate "C",
  outcome_at timestamp with time zone,
  permits text[] collate "C",
  turn bigint not null default 0,
  callbacks integer,
  callback_seconds integer,
  constraint task_queue_identity UNIQUE (iteration, workflow_id, ref, attempt),
  constraint task_queue_pkey PRIMARY KEY (workflow_id, scheduled_seq),
  constraint task_queue_family CHECK ((family = ANY (ARRAY['worker'::text, 'system'::text, 'waiting'::text]))),
  constraint task_queue_lease_is_whole CHECK ((((lease_token IS NULL) = (lease_expires_at IS NULL)) AND ((lease_token IS NULL) OR (worker_id IS NOT NULL))))
) with (fillfactor=30, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=5000, autovacuum_vacuum_cost_delay=0);
CREATE INDEX task_queue_leases ON public.task_queue USING btree (lease_expires_at) WHERE (lease_expires_at IS NOT NULL);
CREATE INDEX task_queue_permits ON public.task_queue USING btree (namespace) WHERE (permits IS NOT NULL);
CREATE INDEX task_queue_ready ON public.task_queue USING btree (namespace, queue, priority DESC, turn, workflow_id, scheduled_seq, visible_at) WHERE ((lease_token IS NULL) AND (family = 'worker'::text));
CREATE INDEX task_queue_ready_system ON public.task_queue USING btree (queue, priority DESC, turn, workflow_id, scheduled_seq, visible_at) WHERE ((lease_token IS NULL) AND (family = 'system'::text));
CREATE INDEX task_queue_webhooks ON public.task_queue USING btree (namespace, workflow_id, scheduled_seq) WHERE (task_type = 'WAIT_FOR_WEBHOOK'::text);

create table timers (
  workflow_id uuid not null,
  ref text collate "C" not null,
  iteration integer not null,
  attempt integer not null,
  purpose text collate "C" not null,
  namespace text collate "C" not null,
  fire_at timestamp with time zone not null,
  under_lock boolean not null,
  constraint timers_pkey PRIMARY KEY (workflow_id, ref, iteration, attempt, purpose),
  constraint timers_purpose CHECK ((purpose = ANY (ARRAY['WAIT'::text, 'EXECUTION'::text, 'SCHEDULE_TO_START'::text, 'START_TO_CLOSE'::text, 'SCHEDULE_TO_CLOSE'::text])))
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=5000, autovacuum_vacuum_cost_delay=0);
CREATE INDEX timers_due ON public.timers USING btree (under_lock, fire_at);

create table worker_polls (
  namespace text collate "C" not null,
  queue text collate "C" not null,
  worker_id text collate "C" not null,
  polled_at timestamp with time zone not null,
  constraint worker_polls_pkey PRIMARY KEY (namespace, queue, worker_id)
);

create table workflow_definitions (
  namespace text collate "C" not null,
  name text collate "C" not null,
  version integer not null,
  hash text collate "C" not null,
  content json not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint workflow_definitions_pkey PRIMARY KEY (namespace, name, version)
);

create table workflow_events (
  workflow_id uuid not null,
  seq bigint not null,
  namespace text collate "C" not null,
  data json not null,
  constraint workflow_events_pkey PRIMARY KEY (workflow_id, seq)
) partition by RANGE (workflow_id);

create table workflow_events_default partition of workflow_events default with (autovacuum_vacuum_insert_scale_factor=0.1, autovacuum_analyze_scale_factor=0.05);

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
  started_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint workflow_executions_pkey PRIMARY KEY (workflow_id),
  constraint workflow_executions_status CHECK ((status = ANY (ARRAY['RUNNING'::text, 'PAUSED'::text, 'COMPLETED'::text, 'FAILED'::text, 'TIMED_OUT'::text, 'TERMINATED'::text])))
) partition by RANGE (workflow_id);
CREATE INDEX workflow_executions_by_correlation ON ONLY public.workflow_executions USING btree (namespace, correlation_id) WHERE (correlation_id IS NOT NULL);
CREATE INDEX workflow_executions_by_name ON ONLY public.workflow_executions USING btree (namespace, name, started_at DESC, workflow_id DESC);
CREATE INDEX workflow_executions_by_parent ON ONLY public.workflow_executions USING btree (parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX workflow_executions_failing ON ONLY public.workflow_executions USING btree (namespace, started_at DESC, workflow_id DESC) WHERE (status = ANY (ARRAY['FAILED'::text, 'TIMED_OUT'::text, 'TERMINATED'::text]));
CREATE INDEX workflow_executions_newest ON ONLY public.workflow_executions USING btree (namespace, started_at DESC, workflow_id DESC);
CREATE INDEX workflow_executions_running ON ONLY public.workflow_executions USING btree (namespace, started_at DESC, workflow_id DESC) WHERE (status = ANY (ARRAY['RUNNING'::text, 'PAUSED'::text]));

create table workflow_executions_default partition of workflow_executions default with (fillfactor=80, autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.02);
