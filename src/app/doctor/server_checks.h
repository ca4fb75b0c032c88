// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What `keymill doctor` says of a store behind a network: whether it can be reached, and which
// settings of its server could lose an acknowledged block.

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "app/config/config.h"
#include "app/doctor/finding.h"
#include "mint/witness_file.h"

namespace keymill::app::doctor {

struct ServerFacts {
  std::string place;       // The URL without its password.
  bool may_create = true;  // store_create: auto
  std::map<std::string, Recipe> configured;
  std::string flags;       // What a command needs to mean this store, or "".
  std::uint32_t user = 0;  // Who asks.
  std::int64_t now_ms = 0;
  std::string witness_path;
  Status witness_status;  // Whether the witness could be read.
  mint::WitnessFile::View witness;
  Status opened;              // kNotFound: the server is there, the store is not.
  bool being_filled = false;  // That is why it could not be opened.
  Status listed;              // Of a store that could be opened.
  std::vector<KeyspaceRecord> keyspaces;
  Status inspected;  // Of a server that answers.
  std::vector<StoreFinding> seen;
};

// Makes and changes nothing: so nobody is asked for the store's identity, which would begin a
// timeline in MariaDB. Waits a few seconds at most.
// REQUIRES: `settings.store` is the URL of a server.
ServerFacts GatherServer(const Settings& settings, const std::filesystem::path& data_dir,
                         std::string flags, const Clock& clock);

// The check "store", "store CHECK" for each finding of the store itself, and, as far as they can be
// made, "witness" and those of CheckKeyspaces.
Findings CheckServer(const ServerFacts& facts);

}  // namespace keymill::app::doctor
