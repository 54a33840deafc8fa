-- What a namespace gives its runs by name: environment values, in clear, and secrets, sealed under a key that the database never has.
create table named_values (
  namespace text collate "C" not null,
  -- ENVIRONMENT, SECRET.
  kind text collate "C" not null,
  name text collate "C" not null,
  value text not null,
  -- Of a secret: the key that it is sealed with.
  key_id text collate "C",
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (namespace, kind, name),
  constraint named_values_sealed check ((kind = 'SECRET') = (key_id is not null))
);
