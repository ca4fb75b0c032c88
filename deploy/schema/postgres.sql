-- Copyright (c) 2026 The Keymill Authors. See LICENSE.
--
-- The tables of a store in PostgreSQL, schema version 2, for those who make them by hand:
-- where it may, the service makes the same. Written by write_schema; do not edit.
--
--   psql -v ON_ERROR_STOP=1 -d DATABASE -f postgres.sql
--   GRANT USAGE ON SCHEMA keymill TO mill;
--   GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA keymill TO mill;
--
-- For a schema of another name (the URL's `schema`), change it in the two lines below.

BEGIN;

CREATE SCHEMA IF NOT EXISTS keymill;
SET LOCAL search_path = keymill;

CREATE TABLE keymill_store (
  store_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  schema_version BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  agreed_timeline TEXT COLLATE "C" NOT NULL,
  moved_to TEXT NOT NULL,
  fill_name TEXT COLLATE "C" NOT NULL
);

CREATE TABLE keymill_keyspaces (
  name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  recipe TEXT COLLATE "C" NOT NULL,
  recipe_hash TEXT COLLATE "C" NOT NULL,
  secret BYTEA NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  reason TEXT NOT NULL,
  first_number BIGINT NOT NULL,
  end_number BIGINT NOT NULL,
  next_number BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  testified_rev BIGINT NOT NULL,
  testified_next BIGINT NOT NULL,
  CHECK (first_number <= next_number AND next_number <= end_number)
) WITH (fillfactor = 50);

CREATE TABLE keymill_ledger (
  keyspace_id TEXT COLLATE "C" NOT NULL,
  first_number BIGINT NOT NULL,
  number_count BIGINT NOT NULL CHECK (number_count > 0),
  block_id TEXT COLLATE "C" NOT NULL,
  instance TEXT NOT NULL,
  reservation TEXT NOT NULL,
  reserved_at_ms BIGINT NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (keyspace_id, first_number)
);

CREATE INDEX keymill_ledger_state ON keymill_ledger (keyspace_id, state, first_number);

-- From here on: what version 2 has added.
-- Where version 1 is: run what follows, up to the next such line, as the owner, then
--   UPDATE keymill_store SET schema_version = 2;

CREATE TABLE keymill_key (
  keyspace_id TEXT COLLATE "C" NOT NULL,
  key_text TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  since_ms BIGINT NOT NULL,
  instance TEXT NOT NULL,
  token TEXT COLLATE "C" NOT NULL,
  owner TEXT NOT NULL,
  identity TEXT COLLATE "C",
  expires_at_ms BIGINT NOT NULL,
  generation BIGINT NOT NULL,
  note BYTEA NOT NULL,
  PRIMARY KEY (key_text, keyspace_id)
);

CREATE UNIQUE INDEX keymill_key_identity ON keymill_key (identity, keyspace_id) WHERE identity IS
  NOT NULL;

CREATE INDEX keymill_key_state ON keymill_key (state, keyspace_id, since_ms, key_text);

CREATE INDEX keymill_key_expiry ON keymill_key (state, keyspace_id, expires_at_ms) WHERE
  expires_at_ms > 0;

CREATE VIEW available_keys AS SELECT s.name AS keyspace, k.key_text AS key, CASE k.state WHEN
  'reserved' THEN k.instance END AS reserved_by, CASE k.state WHEN 'reserved' THEN
  to_timestamp(k.since_ms / 1000.0) END AS reserved_at FROM keymill_key k JOIN keymill_keyspaces s
  ON s.id = k.keyspace_id WHERE k.state IN ('available', 'reserved');

CREATE VIEW used_keys AS SELECT s.name AS keyspace, k.key_text AS key, to_timestamp(k.since_ms /
  1000.0) AS used_at, k.instance AS used_by, CASE WHEN k.expires_at_ms > 0 THEN
  to_timestamp(k.expires_at_ms / 1000.0) END AS expires_at FROM keymill_key k JOIN
  keymill_keyspaces s ON s.id = k.keyspace_id WHERE k.state = 'used';

-- The store itself is made by the first instance that starts.
INSERT INTO keymill_store (store_id, schema_version, created_at_ms, agreed_timeline, moved_to,
  fill_name) SELECT '', 2, 0, '', '', '' FROM (SELECT count(*) AS stores FROM keymill_store)
  present WHERE stores = 0;

COMMIT;
