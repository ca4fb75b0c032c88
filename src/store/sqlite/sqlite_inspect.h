// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A look at a SQLite store from outside, for people who want to know what is wrong with it.
// Nothing is created, changed, rolled back or reserved.

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "keymill/clock.h"
#include "keymill/store.h"

namespace keymill::store {

struct SqliteInspection {
  enum class State : std::uint8_t {
    kAbsent,      // No file, or one that holds nothing.
    kNoSchema,    // A database without Keymill's tables, or with empty ones: for a first start.
    kReadable,    // All below was read.
    kLocked,      // Another process kept it locked until the deadline.
    kHotJournal,  // A transaction was cut off and waits to be rolled back.
    kWal,         // In WAL mode: reading would leave files behind, so nobody did.
    kNotOurs,     // No SQLite database, or another program's.
    kDamaged,     // SQLite says so.
    kUnreadable,  // The file cannot be opened or read.
  };
  State state = State::kAbsent;
  std::string said = {};    // By SQLite or the system, where `state` is no good news.
  std::uint64_t bytes = 0;  // Of the file.

  std::uint32_t schema_version = 0;
  std::uint32_t schema_known = 0;  // The newest that this program can use.
  std::string store_id = {};
  std::string moved_to = {};  // Where a store went that was sealed.
  bool being_filled = false;  // By `keymill store copy`, which has not come to its end.
  std::vector<KeyspaceRecord> keyspaces = {};  // Of a schema that is known.
  std::int64_t newest_ms = 0;                  // The latest time that the store has recorded, or 0.

  bool checked = false;     // quick_check came to its end in time.
  std::string damage = {};  // What it found, or "".
};

// Waits for locks for at most `patience`, and reads for at most as long again: while somebody
// reads, nobody can commit.
SqliteInspection InspectSqlite(const std::filesystem::path& path, const Clock& clock,
                               std::chrono::milliseconds patience);

}  // namespace keymill::store
