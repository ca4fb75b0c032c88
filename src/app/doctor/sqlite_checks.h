// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What `keymill doctor` says of a SQLite store and its witness. Another store brings a pair like
// this one: facts that are gathered without changing anything, and a pure function of them.

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "app/config/config.h"
#include "app/doctor/finding.h"
#include "mint/witness_file.h"
#include "store/sqlite/sqlite_inspect.h"

namespace keymill::app::doctor {

// A file that is there.
struct FileFacts {
  std::string path;
  std::uint32_t mode = 0;
  int access_error = 0;  // errno of what the server does with it; 0 when it may.
};

struct SqliteFacts {
  std::string path;        // Of the database, absolute.
  bool may_create = true;  // store_create: auto
  std::map<std::string, Recipe> configured;
  std::string flags;       // What a command needs to mean this store: " --data-dir /srv", or "".
  std::uint32_t user = 0;  // Who asks.
  std::int64_t now_ms = 0;
  store::SqliteInspection seen;
  std::string witness_path;
  Status witness_status;  // Whether the witness could be read.
  mint::WitnessFile::View witness;
  std::vector<FileFacts> files;
};

// Where a store's database lies. REQUIRES: `store_url` is sqlite:PATH.
std::filesystem::path DatabasePath(const std::filesystem::path& data_dir,
                                   std::string_view store_url);

// Waits a second at most for somebody who has the database locked.
SqliteFacts GatherSqlite(const Settings& settings, const std::filesystem::path& data_dir,
                         std::string flags, const Clock& clock);

// The checks "files", "store", "integrity", "witness" and "keyspaces", as far as they can be made.
Findings CheckSqlite(const SqliteFacts& facts);

}  // namespace keymill::app::doctor
