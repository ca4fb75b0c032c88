// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys that a store remembers one by one: pools of random keys, aliases that somebody chose, keys
// that were made from content, short links, and answers that a retry gets again. Counters need none
// of it.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"
#include "keymill/store.h"

namespace keymill {

// Do not change existing entries: their names are kept in stores.
enum class KeyState : std::uint8_t {
  kAvailable,  // In a pool, for anybody.
  kReserved,   // Taken by an instance, which says so before it hands the key out.
  kUsed,       // Handed out, or given up by whoever had it in memory.
  kReleased,   // Nobody's any more; becomes available after a while where the keyspace recycles.
  kAlias,      // Claimed by its owner.
  kDerived,    // Made from the content that `identity` names.
  kNote,       // No key at all, but something to remember under a name that no key can have.
  kLink,       // Leads somewhere: `note` says where to.
};
inline constexpr std::size_t kKeyStates = 8;
std::string_view KeyStateName(KeyState state);

inline constexpr std::size_t kStoredKeySizeMax = 80;

struct KeyRow {
  std::string key;  // 1 to kStoredKeySizeMax bytes of printable ASCII; compares as bytes.
  KeyState state = KeyState::kAvailable;
  std::int64_t since_ms = 0;       // When it came into this state, by the clock of who changed it.
  std::string instance = {};       // Who reserved or used it.
  std::string token = {};          // Random, of the call that took it: fences off all others.
  std::string owner = {};          // Of an alias, for people. Up to 200 bytes of UTF-8.
  std::string identity = {};       // 64 hex digits, once per keyspace; "" for none.
  std::int64_t expires_at_ms = 0;  // 0 for never.
  // How often it has become available again; of a kLink, how often it was followed.
  std::uint64_t generation = 0;
  std::string note = {};  // Of kNote and kLink: up to 1 MiB.

  friend bool operator==(const KeyRow&, const KeyRow&) = default;
};

// What every change of a keyspace's keys is held against, as in ReserveRequest. Every change moves
// the keyspace's revision on, so that a table that went back in time is noticed by the witness.
struct KeyGuard {
  std::string keyspace_id;
  std::string recipe_hash;
  Witness witness;
  std::string timeline = {};
  // For whoever recovers a keyspace: only a quarantined one is changed, and is not held against
  // the witness. It stays quarantined.
  bool recovering = false;
};

// Which rows to change. What is empty or 0 is not asked for.
struct KeyMatch {
  std::vector<std::string> keys = {};  // Only these; up to kKeysMax.
  KeyState state = KeyState::kUsed;    // Always asked for.
  std::string token = {};
  std::optional<std::uint64_t> generation = {};
  std::int64_t since_until_ms = 0;    // In its state since this moment or longer.
  std::int64_t expires_until_ms = 0;  // With an end, at this moment or before.
};

struct KeyChange {
  KeyMatch match;
  // Nothing: the row goes. REQUIRES then: it is a kNote or a kLink. Neither becomes anything else.
  std::optional<KeyState> to = {};
  std::int64_t at_ms = 0;                         // What since_ms becomes.
  std::optional<std::int64_t> expires_at_ms = 0;  // What it becomes; nothing: as it was.
  std::uint32_t generations = 0;                  // By how many its generation grows.
  std::uint32_t rows_max = 1'000;                 // Range: [1, kKeysMax].
};

// Safe for concurrent use by multiple threads. Errors that every call may return are those of
// Store; calls with a KeyGuard also return what Reserve does for a keyspace that is retired, of
// another recipe, sealed, quarantined, or behind the witness (and then quarantines it). With
// KeyGuard::recovering they return kFailedPrecondition for one that is not quarantined.
class KeyTable {
 public:
  static constexpr std::size_t kKeysMax = 10'000;

  virtual ~KeyTable() = default;
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;

  struct Added {
    // For each row of the call, in order: nothing when it was added, otherwise the row that was
    // there: one with its identity, or else one with its key.
    std::vector<std::optional<KeyRow>> present;
    Witness seen;
  };
  // Adds rows that are not there yet, all in one transaction; of two in one call with the same key
  // or identity the second finds the first. A key that is there in any state, used ones
  // included, is never written again.
  // kUnknownOutcome: repeat the call; what it had added is then found.
  // REQUIRES: 1 to kKeysMax rows
  virtual Result<Added> AddKeys(const KeyGuard& guard, const std::vector<KeyRow>& rows,
                                MonotonicTime deadline) = 0;

  struct TakeRequest {
    std::uint32_t count = 0;        // Range: [1, kKeysMax].
    KeyState to = KeyState::kUsed;  // Or kReserved.
    std::string instance;
    std::string token;  // Random.
    std::int64_t at_ms = 0;
    std::int64_t expires_at_ms = 0;
  };
  struct Taken {
    std::vector<std::string> keys;  // At least one.
    Witness seen;
  };
  // Takes up to `count` keys that are available, in no order, so that nobody else can have them.
  // Durable before this returns.
  // Errors:
  //   kExhausted       none is available; nothing changed.
  //   kUnknownOutcome  whatever was taken is lost to the caller. Take others, with another token;
  //                    what was kReserved under the lost one may be made available again by it.
  virtual Result<Taken> TakeKeys(const KeyGuard& guard, const TakeRequest& request,
                                 MonotonicTime deadline) = 0;

  struct Changed {
    std::vector<KeyRow> rows;  // As they are now, or, of those that went, as they were.
    Witness seen;              // Nothing when no row has changed.
  };
  // Changes the rows that match, in one transaction. The match is the fence: a row that somebody
  // else has taken over since does not match.
  // kUnknownOutcome: the rows may have changed or not.
  virtual Result<Changed> ChangeKeys(const KeyGuard& guard, const KeyChange& change,
                                     MonotonicTime deadline) = 0;

  virtual Result<std::optional<KeyRow>> FindKey(std::string_view keyspace_id, std::string_view key,
                                                MonotonicTime deadline) = 0;
  virtual Result<std::optional<KeyRow>> FindIdentity(std::string_view keyspace_id,
                                                     std::string_view identity,
                                                     MonotonicTime deadline) = 0;

  struct Query {
    std::optional<KeyState> state = {};
    std::int64_t since_ms = 0;  // In its state since this moment or later,
    std::int64_t until_ms = 0;  // but before this one; 0 for any.
    std::string instance = {};
    std::string cursor = {};         // "" at first, then what the page before said.
    std::uint32_t rows_max = 1'000;  // Range: [1, kKeysMax].
  };
  struct Page {
    std::vector<KeyRow> rows;  // May be fewer than rows_max, and none, although more follow.
    std::string cursor;        // "" after the last page.
  };
  // All rows that match, over several pages, in no order. What is added or changed meanwhile may be
  // there or not; a row may come twice.
  virtual Result<Page> ListKeys(std::string_view keyspace_id, const Query& query,
                                MonotonicTime deadline) = 0;

  using Counts = std::array<std::uint64_t, kKeyStates>;
  // How many rows are in each state.
  virtual Result<Counts> CountKeys(std::string_view keyspace_id, MonotonicTime deadline) = 0;

  // As Store::FillLedger, after the keyspace's own FillKeyspace. REQUIRES: at most kFillRowsMax
  // rows. A row that is there already stays as it is.
  virtual Status FillKeys(std::string_view fill, std::string_view keyspace_id,
                          const std::vector<KeyRow>& rows, MonotonicTime deadline) = 0;

 protected:
  KeyTable() = default;
};

}  // namespace keymill
