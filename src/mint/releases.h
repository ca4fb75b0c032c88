// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys of a pool that their owners need no more. A key has one owner per life, and its generation
// tells the lives apart: who releases the key of an earlier one does not take it from its owner.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keymill/status.h"

#include "mint/key_register.h"

namespace keymill::mint {

class Keyspace;

enum class ReleaseVerdict : std::uint8_t {
  kReleased,         // It becomes available again after the keyspace's quarantine.
  kUnknown,          // The keyspace has no such key.
  kNotUsed,          // Nobody has it: it is available, or was released before.
  kOtherGeneration,  // It is in another life than the caller thinks.
  kNeverRecycled,    // This keyspace does not take keys back, or the key was imported.
};

struct Release {
  ReleaseVerdict verdict = ReleaseVerdict::kReleased;
  std::string detail = {};  // Why not, for people.
};

// Releases `key`, of that generation if one is said.
Result<Release> ReleaseKey(KeyRegister& keys, const Keyspace& keyspace, std::string_view key,
                           std::optional<std::uint64_t> generation);

}  // namespace keymill::mint
