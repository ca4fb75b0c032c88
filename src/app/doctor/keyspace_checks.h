// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What `keymill doctor` says of what a store holds, wherever the store is.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "app/doctor/finding.h"
#include "mint/witness_file.h"

namespace keymill::app::doctor {

struct KeyspaceFacts {
  const std::vector<KeyspaceRecord>& keyspaces;
  std::string store_id;
  const mint::WitnessFile::View& witness;
  const std::map<std::string, Recipe>& configured;
  const std::string& flags;  // What a command needs to mean this store: " --data-dir /srv", or "".
  std::int64_t now_ms = 0;
  std::string newer_copy;  // How to undo that the store went back.
};

// "keyspace NAME" for each that is not well or was lost, and "keyspaces", which counts.
Findings CheckKeyspaces(const KeyspaceFacts& facts);

// "sqlite:/srv/data/keymill.db", or "" when the witness remembers nothing.
std::string Remembered(const mint::WitnessFile::View& witness);

// The check "witness" when it cannot be read.
Finding UnreadableWitness(const Status& status, std::uint32_t user, const std::string& path);

// The check "store" when it was moved to another, or is not complete yet. `store` says which.
Finding SealedStore(std::string_view store, std::string_view moved_to);
Finding FilledStore(std::string_view store);

}  // namespace keymill::app::doctor
