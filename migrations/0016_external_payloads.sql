-- Payloads that a client uploads before it names them in a start or an update. What was named is copied into the run, so a
-- row is of use only for a while: it is deleted a week after the upload.

create table external_payloads (
  namespace text collate "C" not null,
  path text collate "C" not null,
  content json not null,
  uploaded_at timestamptz not null default clock_timestamp(),
  primary key (namespace, path)
);
create index external_payloads_by_age on external_payloads (uploaded_at);
