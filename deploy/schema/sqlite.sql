-- Copyright (c) 2026 The Keymill Authors. See LICENSE.
--
-- The tables of a store in SQLite, schema version 3, for those who make them by hand:
-- where it may, the service makes the same. Written by write_schema; do not edit.
--
--   (umask 077; sqlite3 -bail keymill.db < sqlite.sql)
--
-- The file, and the directory it is in, belong to the user of the service.

BEGIN IMMEDIATE;

CREATE TABLE IF NOT EXISTS keymill_store (
  store_id VARCHAR(32) NOT NULL PRIMARY KEY,
  schema_version BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL
);

CREATE TABLE keymill_keyspaces (
  name TEXT NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  recipe TEXT NOT NULL,
  recipe_hash TEXT NOT NULL,
  secret BLOB NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  first_number INTEGER NOT NULL,
  end_number INTEGER NOT NULL,
  next_number INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  CHECK (first_number <= next_number AND next_number <= end_number)
) STRICT;

CREATE TABLE keymill_ledger (
  keyspace_id TEXT NOT NULL,
  first_number INTEGER NOT NULL,
  number_count INTEGER NOT NULL CHECK (number_count > 0),
  block_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  reservation TEXT NOT NULL,
  reserved_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (keyspace_id, first_number)
) STRICT, WITHOUT ROWID;

CREATE INDEX keymill_ledger_state ON keymill_ledger (keyspace_id, state, first_number);

PRAGMA application_id = 1263356236;

-- From here on: what version 2 has added.

ALTER TABLE keymill_store ADD COLUMN agreed_timeline TEXT NOT NULL DEFAULT '';

ALTER TABLE keymill_store ADD COLUMN moved_to TEXT NOT NULL DEFAULT '';

ALTER TABLE keymill_store ADD COLUMN fill_name TEXT NOT NULL DEFAULT '';

ALTER TABLE keymill_keyspaces ADD COLUMN testified_rev INTEGER NOT NULL DEFAULT 0;

ALTER TABLE keymill_keyspaces ADD COLUMN testified_next INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER keymill_sealed BEFORE INSERT ON keymill_keyspaces WHEN (SELECT moved_to FROM
  keymill_store) <> '' BEGIN SELECT RAISE(ABORT, 'the store was sealed'); END;

-- From here on: what version 3 has added.

CREATE TABLE keymill_key (
  keyspace_id TEXT NOT NULL,
  key_text TEXT NOT NULL,
  state TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  instance TEXT NOT NULL,
  token TEXT NOT NULL,
  owner TEXT NOT NULL,
  identity TEXT,
  expires_at_ms INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  note BLOB NOT NULL,
  PRIMARY KEY (key_text, keyspace_id)
) STRICT;

CREATE UNIQUE INDEX keymill_key_identity ON keymill_key (identity, keyspace_id) WHERE identity IS
  NOT NULL;

CREATE INDEX keymill_key_state ON keymill_key (state, keyspace_id, since_ms, key_text);

CREATE INDEX keymill_key_expiry ON keymill_key (state, keyspace_id, expires_at_ms) WHERE
  expires_at_ms > 0;

CREATE VIEW available_keys AS SELECT s.name AS keyspace, k.key_text AS "key", CASE k.state WHEN
  'reserved' THEN k.instance END AS reserved_by, CASE k.state WHEN 'reserved' THEN
  strftime('%Y-%m-%d %H:%M:%f', k.since_ms / 1000.0, 'unixepoch') END AS reserved_at FROM
  keymill_key k JOIN keymill_keyspaces s ON s.id = k.keyspace_id WHERE k.state IN ('available',
  'reserved');

CREATE VIEW used_keys AS SELECT s.name AS keyspace, k.key_text AS "key",
  strftime('%Y-%m-%d %H:%M:%f', k.since_ms / 1000.0, 'unixepoch') AS used_at, k.instance AS
  used_by, CASE WHEN k.expires_at_ms > 0 THEN strftime('%Y-%m-%d %H:%M:%f', k.expires_at_ms /
  1000.0, 'unixepoch') END AS expires_at FROM keymill_key k JOIN keymill_keyspaces s ON s.id =
  k.keyspace_id WHERE k.state = 'used';

-- The store itself is made by the first instance that starts.
INSERT INTO keymill_store (store_id, schema_version, created_at_ms, agreed_timeline, moved_to,
  fill_name) SELECT '', 3, 0, '', '', '' FROM (SELECT count(*) AS stores FROM keymill_store)
  present WHERE stores = 0;

COMMIT;
