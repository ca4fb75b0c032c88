// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Whether what a SQLite file lies on keeps what was committed. What its connections themselves can
// make sure of (journal, synchronous), they read back when they are opened.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "keymill/store.h"

namespace keymill::store {

struct SqlitePlace {
  std::string path;                    // Of the database.
  std::uint64_t file_system_type = 0;  // statfs(2); 0 when it could not be asked.
  std::string mount_options;           // Of the mount it lies on: "rw,relatime,nobarrier".
  bool without_sync = false;           // A library that turns fsync off is loaded.
};

SqlitePlace GatherPlace(const std::filesystem::path& database);

// Pure.
std::vector<StoreFinding> CheckPlace(const SqlitePlace& place);

// The options of the mount that `device` ("8:1") is named for in the text of /proc/self/mountinfo:
// those of the mount and those of the file system. "" when it is not there.
std::string MountOptions(const std::string& mountinfo, const std::string& device);

}  // namespace keymill::store
