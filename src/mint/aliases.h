// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys that a caller chooses: exactly one claimant wins, and none is ever a key that the keyspace
// hands out by itself.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "keymill/status.h"

#include "mint/key_register.h"

namespace keymill::mint {

class Keyspace;

enum class ClaimVerdict : std::uint8_t {
  kClaimed,         // By this call.
  kYours,           // By an earlier one of the same owner.
  kTaken,           // By somebody else, or it is a key that was made some other way.
  kInvalid,         // No alias looks like that.
  kReserved,        // A word that addresses are made of, or that the keyspace's blocklist has.
  kLooksGenerated,  // The keyspace could hand it out by itself.
};

struct Claim {
  ClaimVerdict verdict = ClaimVerdict::kClaimed;
  std::string detail = {};  // Why not, for people.
};

inline constexpr std::size_t kAliasSizeMin = 3;
inline constexpr std::size_t kAliasSizeMax = 16;

// Whether anybody may have `alias` on the keyspace: kClaimed when nothing but another claim stands
// against it. [A-Za-z0-9][A-Za-z0-9_-]{2,15}, case-sensitive, and no reserved word in any case.
Claim JudgeAlias(const Keyspace& keyspace, std::string_view alias);

// Claims it for `owner`, who may claim it again. Without an owner nobody can: a second claimant is
// not to be told from the first.
// Errors: kInvalidArgument for an owner of more than 200 bytes or one that is not UTF-8;
// KeyRegister::Add's.
Result<Claim> ClaimAlias(KeyRegister& keys, const Keyspace& keyspace, std::string_view alias,
                         std::string_view owner);

}  // namespace keymill::mint
