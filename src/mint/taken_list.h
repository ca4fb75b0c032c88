// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Codes that were in use before the keyspace was made, brought along from another service, and that
// it must never give out. Kept as the numbers behind them, so that a block can be rid of them when
// it is reserved and no request has to look: one row for each range of numbers that holds any, and
// a last one that says that the list is complete. Without that one nothing is reserved.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

#include "mint/key_register.h"
#include "mint/witnessed_store.h"

namespace keymill::mint {

class Keyspace;

// What a recipe says of a list (Recipe::taken): no other will do. REQUIRES: sorted, each once.
std::string TakenDigest(const std::vector<std::string>& codes);

// Writes the list. May be repeated when it failed, with the same numbers: what is there stays.
// `progress` hears how many numbers are written so far.
// REQUIRES: sorted, each once.
Status WriteTaken(KeyRegister& keys, const Keyspace& keyspace,
                  const std::vector<std::uint64_t>& numbers,
                  const std::function<void(std::uint64_t)>& progress = {});

struct NumberRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  friend bool operator==(const NumberRun&, const NumberRun&) = default;
};

// Reads the list of one keyspace. Used by one thread at a time.
class TakenList {
 public:
  explicit TakenList(std::string keyspace_id) : keyspace_id_(std::move(keyspace_id)) {}

  // Whether all of the list is there.
  // Errors: kUnavailable when the store is away; kFailedPrecondition when the list is damaged, or
  // the store cannot have one.
  Result<bool> CheckComplete(WitnessedStore& store);
  // What is said until then: kUnavailable.
  static Status Incomplete();

  // What is left of [first, first + count), in order.
  // Errors: as CheckComplete, and Incomplete.
  Result<std::vector<NumberRun>> FreeOf(WitnessedStore& store, std::uint64_t first,
                                        std::uint64_t count);

 private:
  // The numbers of one range, sorted.
  Result<const std::vector<std::uint64_t>*> ReadPage(WitnessedStore& store, std::uint64_t page);
  Result<std::optional<KeyRow>> Find(WitnessedStore& store, const std::string& row) const;

  const std::string keyspace_id_;
  std::optional<std::uint32_t> page_bits_;  // Once it is known to be complete.
  std::optional<std::uint64_t> page_;       // The one that was read last,
  std::vector<std::uint64_t> numbers_;      // and what is in it.
};

}  // namespace keymill::mint
