-- Values of the history that are too large to stand in its rows, by the sha-256 of their JSON. Used where no folder for them
-- is configured.
create table blobs (
  sha256 text collate "C" not null primary key,
  content text not null,
  used_at timestamptz not null default clock_timestamp()
);

-- Which runs refer to which value, wherever the value is kept: written with what refers to it, gone with the run.
create table blob_references (
  workflow_id uuid not null,
  sha256 text collate "C" not null,
  primary key (workflow_id, sha256)
);
create index blob_references_by_value on blob_references (sha256);
