// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A file as the first version of the schema had it.

#pragma once

namespace keymill::store {

// One store with the keyspace "links", of which 10 of 1000 numbers are reserved and 4 came back.
inline constexpr const char* kVersion1 = R"sql(
CREATE TABLE keymill_store (store_id VARCHAR(32) NOT NULL PRIMARY KEY,
  schema_version BIGINT NOT NULL, created_at_ms BIGINT NOT NULL);
CREATE TABLE keymill_keyspaces (name TEXT NOT NULL PRIMARY KEY, id TEXT NOT NULL UNIQUE,
  recipe TEXT NOT NULL, recipe_hash TEXT NOT NULL, secret BLOB NOT NULL, state TEXT NOT NULL,
  reason TEXT NOT NULL, first_number INTEGER NOT NULL, end_number INTEGER NOT NULL,
  next_number INTEGER NOT NULL, rev INTEGER NOT NULL, created_at_ms INTEGER NOT NULL,
  CHECK (first_number <= next_number AND next_number <= end_number)) STRICT;
CREATE TABLE keymill_ledger (keyspace_id TEXT NOT NULL, first_number INTEGER NOT NULL,
  number_count INTEGER NOT NULL CHECK (number_count > 0), block_id TEXT NOT NULL,
  instance TEXT NOT NULL, reservation TEXT NOT NULL, reserved_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL, PRIMARY KEY (keyspace_id, first_number)) STRICT, WITHOUT ROWID;
CREATE INDEX keymill_ledger_state ON keymill_ledger (keyspace_id, state, first_number);
PRAGMA application_id = 1263356236;
INSERT INTO keymill_store VALUES ('0123456789abcdef0123456789abcdef', 1, 1750000000000);
INSERT INTO keymill_keyspaces VALUES ('links', 'id of links', 'recipe', 'hash', x'00ff', 'open', '',
  0, 1000, 10, 3, 1750000000000);
INSERT INTO keymill_ledger VALUES ('id of links', 0, 6, 'b1', 'host/1', 'b1', 1750000000000,
  'spent');
INSERT INTO keymill_ledger VALUES ('id of links', 6, 4, 'b1', 'host/1', 'b1', 1750000000000,
  'returned');
)sql";

}  // namespace keymill::store
