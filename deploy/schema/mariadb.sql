-- Copyright (c) 2026 The Keymill Authors. See LICENSE.
--
-- The tables of a store in MariaDB or MySQL, schema version 2, for those who make them by hand:
-- where it may, the service makes the same. Written by write_schema; do not edit.
--
--   CREATE DATABASE `keys`;
--   mariadb keys < mariadb.sql
--   GRANT SELECT, INSERT, UPDATE, DELETE ON `keys`.* TO mill;
--
-- The same brings tables of an older version up to date.

SET NAMES utf8mb4;

CREATE TABLE IF NOT EXISTS keymill_store (
  store_id VARBINARY(64) NOT NULL PRIMARY KEY,
  schema_version BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  agreed_timeline VARBINARY(255) NOT NULL,
  moved_to MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  fill_name VARBINARY(64) NOT NULL
) ENGINE = InnoDB;

SET SESSION default_storage_engine = MEMORY;

CREATE TABLE IF NOT EXISTS keymill_start (
  token VARBINARY(64) NOT NULL PRIMARY KEY
);

SET SESSION default_storage_engine = DEFAULT;

CREATE TABLE IF NOT EXISTS keymill_keyspaces (
  name VARBINARY(255) NOT NULL PRIMARY KEY,
  id VARBINARY(64) NOT NULL UNIQUE,
  recipe MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  recipe_hash VARBINARY(255) NOT NULL,
  secret BLOB NOT NULL,
  state VARBINARY(32) NOT NULL,
  reason MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  first_number BIGINT NOT NULL,
  end_number BIGINT NOT NULL,
  next_number BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  testified_rev BIGINT NOT NULL,
  testified_next BIGINT NOT NULL,
  CHECK (first_number <= next_number AND next_number <= end_number)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS keymill_ledger (
  keyspace_id VARBINARY(64) NOT NULL,
  first_number BIGINT NOT NULL,
  number_count BIGINT NOT NULL CHECK (number_count > 0),
  block_id VARBINARY(64) NOT NULL,
  instance VARBINARY(255) NOT NULL,
  reservation VARBINARY(64) NOT NULL,
  reserved_at_ms BIGINT NOT NULL,
  state VARBINARY(32) NOT NULL,
  PRIMARY KEY (keyspace_id, first_number),
  KEY keymill_ledger_state (keyspace_id, state, first_number)
) ENGINE = InnoDB;

-- From here on: what version 2 has added.

CREATE TABLE IF NOT EXISTS keymill_key (
  keyspace_id VARBINARY(64) NOT NULL,
  key_text VARBINARY(80) NOT NULL,
  state VARBINARY(32) NOT NULL,
  since_ms BIGINT NOT NULL,
  instance VARBINARY(255) NOT NULL,
  token VARBINARY(64) NOT NULL,
  owner VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  identity VARBINARY(64),
  expires_at_ms BIGINT NOT NULL,
  generation BIGINT NOT NULL,
  note MEDIUMBLOB NOT NULL,
  PRIMARY KEY (key_text, keyspace_id),
  UNIQUE KEY keymill_key_identity (identity, keyspace_id),
  KEY keymill_key_state (state, keyspace_id, since_ms, key_text),
  KEY keymill_key_expiry (state, keyspace_id, expires_at_ms)
) ENGINE = InnoDB;

CREATE /*!80000 OR REPLACE */ SQL SECURITY INVOKER VIEW /*M! IF NOT EXISTS */ available_keys AS
  SELECT s.name AS keyspace, k.key_text AS `key`, CASE k.state WHEN 'reserved' THEN k.instance END
  AS reserved_by, CASE k.state WHEN 'reserved' THEN TIMESTAMP('1970-01-01') + INTERVAL k.since_ms *
  1000 MICROSECOND END AS reserved_at FROM keymill_key k JOIN keymill_keyspaces s ON s.id =
  k.keyspace_id WHERE k.state IN ('available', 'reserved');

CREATE /*!80000 OR REPLACE */ SQL SECURITY INVOKER VIEW /*M! IF NOT EXISTS */ used_keys AS SELECT
  s.name AS keyspace, k.key_text AS `key`, TIMESTAMP('1970-01-01') + INTERVAL k.since_ms * 1000
  MICROSECOND AS used_at, k.instance AS used_by, CASE WHEN k.expires_at_ms > 0 THEN
  TIMESTAMP('1970-01-01') + INTERVAL k.expires_at_ms * 1000 MICROSECOND END AS expires_at FROM
  keymill_key k JOIN keymill_keyspaces s ON s.id = k.keyspace_id WHERE k.state = 'used';

-- The store itself is made by the first instance that starts.
INSERT INTO keymill_store (store_id, schema_version, created_at_ms, agreed_timeline, moved_to,
  fill_name) SELECT '', 2, 0, '', '', '' FROM (SELECT count(*) AS stores FROM keymill_store)
  present WHERE stores = 0;
UPDATE keymill_store SET schema_version = 2 WHERE schema_version < 2;

COMMIT;
