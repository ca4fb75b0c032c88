// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The keys that a store remembers by name (see keymill/key_table.h), as one instance uses them.
// Every change is held against what was seen before, and what it shows is witnessed before it
// counts: a table that went back in time is noticed as a counter is.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/key_table.h"
#include "keymill/status.h"

#include "mint/witnessed_store.h"

namespace keymill::mint {

class Keyspace;

// Safe for concurrent use by multiple threads.
class KeyRegister {
 public:
  // The timeline in which every witness was compared (S4), or why nothing may be changed now.
  using Permit = std::function<Result<std::string>()>;

  // `recovering`: see KeyGuard.
  KeyRegister(WitnessedStore& store, Permit permit, bool recovering = false)
      : store_(store), permit_(std::move(permit)), recovering_(recovering) {}

  // Whether the store remembers keys at all. kFailedPrecondition, for people.
  [[nodiscard]] Status CheckPossible() const;

  // As KeyTable's, without guard and deadline. An unknown outcome of Add and of Change is settled
  // by repeating the call; one that stays unknown is returned. REQUIRES for Change: repeating it
  // does no harm, or `repeats` is false. `repeated` says whether Add was: what it found may be its
  // own then.
  Result<std::vector<std::optional<KeyRow>>> Add(const Keyspace& keyspace,
                                                 const std::vector<KeyRow>& rows,
                                                 bool* repeated = nullptr);
  Result<std::vector<KeyRow>> Change(const Keyspace& keyspace, const KeyChange& change,
                                     bool repeats = true);
  // Add for a batch job of many calls, which a store that is slow for a moment does not end.
  Result<std::vector<std::optional<KeyRow>>> AddPatiently(const Keyspace& keyspace,
                                                          const std::vector<KeyRow>& rows,
                                                          bool* repeated = nullptr);

  // The same for keys that are to leave: asked for once, whatever the outcome. What they return
  // counts only after Attest has succeeded: until then it is the caller's, and nobody's (W1).
  Result<KeyTable::Taken> Take(const Keyspace& keyspace, KeyTable::TakeRequest request);
  Result<KeyTable::Changed> Mark(const Keyspace& keyspace, const KeyChange& change);
  // On disk before this returns.
  Status Attest(const Keyspace& keyspace, const Witness& seen);
  // The same for what the store has now, of whoever it comes.
  Status AttestPresent(const Keyspace& keyspace);

  Result<std::optional<KeyRow>> Find(const Keyspace& keyspace, std::string_view key);
  Result<std::optional<KeyRow>> FindIdentity(const Keyspace& keyspace, std::string_view identity);
  Result<KeyTable::Page> List(const Keyspace& keyspace, const KeyTable::Query& query);
  Result<KeyTable::Counts> Count(const Keyspace& keyspace);

  // What the time is, for rows: by the store's clock, where it has one.
  [[nodiscard]] std::int64_t NowMs() const { return store_.NowMs(); }
  // The same for what is lost once it counts as over: by the store's clock and by this machine's.
  [[nodiscard]] std::int64_t SurelyPastMs() const {
    return std::min(NowMs(), store_.clock().WallMs());
  }
  [[nodiscard]] const std::string& instance() const { return store_.instance(); }

 private:
  Result<KeyGuard> Guard(const Keyspace& keyspace);

  WitnessedStore& store_;
  const Permit permit_;
  const bool recovering_;
};

}  // namespace keymill::mint
