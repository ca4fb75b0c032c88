// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keymill/key_table.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

namespace keymill::mint {

// What is known of a key. What a kind does not have is not there.
struct Explanation {
  enum class State : std::uint8_t { kIssued, kReserved, kUnknown, kAlias };
  State state = State::kUnknown;
  std::string keyspace;
  Kind kind = Kind::kShuffled;
  std::optional<std::uint64_t> number = {};
  std::optional<std::uint64_t> index = {};   // Of a ticket: blocks are counted in these.
  std::optional<std::int64_t> time_ms = {};  // When it was made, by the key itself.
  std::optional<std::uint32_t> worker = {};
  std::optional<std::uint32_t> sequence = {};
  std::optional<LedgerRow> block = {};
  std::optional<KeyRow> record = {};  // Of a key that the store remembers by name.
};
std::string_view ExplanationStateName(Explanation::State state);

// What a row says of its key. kNotFound when nobody has ever had it.
Result<Explanation> ExplainRow(std::string_view keyspace, Kind kind, const KeyRow& row);

// Why a key cannot be one of the keyspace's: kNotFound. `why` may begin as a codec's messages do:
// "key: has 5 symbols".
Status NotIssued(std::string_view keyspace, std::string_view why);

}  // namespace keymill::mint
