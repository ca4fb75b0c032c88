// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keymill as a library. Start here; this header is enough to use it:
//
//   auto mill = keymill::Mill::Open({.data_dir = "data"});
//   if (!mill.ok()) return Fail(mill.status().message());
//   auto key = (*mill)->Next("default");           // "yNNZhhb"
//   if (key.ok()) Use(*key);
//
// A *keyspace* is a named stream of keys with one recipe. "default" always exists: shuffled,
// seven symbols of 0-9A-Za-z. Others are made once and then found again:
//
//   keymill::Recipe recipe = keymill::DefaultRecipe(keymill::Kind::kSequence);
//   recipe.prefix = "ord_";
//   recipe.alphabet = "decimal";                   // All fields: keyspace.h
//   if (auto made = (*mill)->Create("orders", recipe); !made.ok()) return Fail(made.message());
//   auto orders = (*mill)->Next("orders", 100);    // "ord_1", "ord_2", …
//
// Nothing here throws because of what the store does: calls return a Status, or a Result<T>
// that holds a T or a Status (status.h). Test ok(), then use *result, or look at code() and
// message(); each code says what the caller should do. The compiler warns of one that is dropped.
//
// No key of a keyspace is given twice, across threads, processes, crashes and restarts, as
// long as all of them use one store. Several processes may open the same one. Not promised:
// keys without gaps, and an order across processes.
//
// To build: find_package(keymill) and keymill::keymill in CMake, or `pkg-config keymill`.
// For other languages there is a C API with the same meaning: keymill/c.h.

#pragma once

#if __cplusplus < 202002L
#error "keymill/keymill.h needs C++20 (-std=c++20)"
#endif

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"

namespace keymill {

struct MillOptions {
  // The directory of the database and of the witness, a small file that remembers how far
  // the database had come. Made when it is missing. Processes that share a database must
  // share the directory.
  std::string data_dir = "data";

  // Which store: sqlite:PATH (relative to data_dir), the URL of a server, or memory: for tests.
  std::string store = "sqlite:keymill.db";

  // Whether a missing database is created. Even then it is not when a witness in data_dir
  // remembers one: it was lost, and starting anew would repeat its keys.
  bool create = true;

  // Numbers in the first block that is reserved; later ones follow demand. Larger: fewer
  // writes, and a larger gap after a crash. Range: [1, 2^24].
  std::uint32_t block_size = 1000;

  // The longest that Next waits when no block is at hand.
  std::chrono::milliseconds timeout{2'000};

  // Whether messages go to stderr. One log per process: false turns it off for all.
  bool log = false;

  // Of keyspaces of kind snowflake: the worker id that ids are made with, and no other. One process
  // has it at a time; another one, a forked child too, waits for it. Unset: one that is free, by
  // preference the pod's ordinal (POD_INDEX, POD_NAME or the host's name).
  std::optional<std::uint32_t> worker_id = {};

  // Whether ids of that kind are made although this machine's clock is more than 10 minutes ahead
  // of the store's: they will lie ahead of all that come after.
  bool accept_clock_ahead = false;

  // Of keyspaces of kind pool: with fewer available keys than this, new ones are made in the
  // background, up to twice as many. 0: never; then FillPool does it. Range: [0, 10^9].
  std::uint32_t pool_low = 10'000;

  // Why a store is used although it can lose what it has acknowledged, and would then give keys
  // twice: one line of up to 200 bytes, which goes to the log. "": Open refuses such a store.
  std::string accept_unsafe_store = {};
};

// An open store and the blocks of numbers that were reserved from it. Most keys come from
// memory; a thread of the mill's own reserves the next block before it is needed.
//
// Threads: safe for concurrent use. Fork: a child may go on using its parent's mill. It drops
// what it inherited and opens the same store anew, so the two never share a key; only a store
// in memory refuses a child, with kFailedPrecondition.
class Mill {
 public:
  // Opens the store, or creates it.
  // Errors:
  //   kInvalidArgument     an option cannot be.
  //   kFailedPrecondition  the store is refused; the message says what to do.
  //   kUnavailable         the store cannot be reached now.
  static Result<std::unique_ptr<Mill>> Open(const MillOptions& options = {});

  // Gives back what was reserved and not used.
  // REQUIRES: no other thread uses the mill any more.
  virtual ~Mill() = default;
  Mill(const Mill&) = delete;
  Mill& operator=(const Mill&) = delete;

  // Makes sure that a keyspace with this recipe exists, durably. Calling again with the same
  // recipe is fine; a recipe can never be changed.
  // Errors:
  //   kInvalidArgument     the name or the recipe cannot be.
  //   kFailedPrecondition  it exists with another recipe; the message says what differs. Or it is
  //                        a snowflake, and MillOptions::worker_id does not fit its layout.
  //   kUnavailable         the store cannot be reached now; try again.
  virtual Status Create(std::string_view keyspace, const Recipe& recipe) = 0;

  // A key that nobody was given before.
  // Errors:
  //   kNotFound         no such keyspace.
  //   kExhausted        it has no keys left.
  //   kQuarantined      its store went back in time; an operator must look.
  //   kOverloaded       others use the worker id that was asked for, or every one; or too many
  //                     callers wait, or take the ids of every moment. Try again later. Or
  //                     MillOptions::worker_id does not fit the keyspace's layout; the message
  //                     says so, and only another mill can have its ids.
  //   kClockRegressed   of a snowflake: the clock went back, or is wrong; the message says how.
  //   kUnavailable, kDeadlineExceeded  no block could be had in time; try again.
  virtual Result<std::string> Next(std::string_view keyspace) = 0;

  // `count` of them; fewer when the keyspace ends, or when not all can be had in time; never none.
  // Errors: as above, and kInvalidArgument for a count of 0 or of more than kCountMax.
  static constexpr std::uint64_t kCountMax = 10'000'000;
  virtual Result<std::vector<std::string>> Next(std::string_view keyspace, std::uint64_t count) = 0;

  // What is known of a key. What its kind does not have, or nobody knows, is not there.
  struct Explanation {
    enum class State : std::uint8_t {
      kIssued,    // It was given to somebody.
      kReserved,  // An instance has it, or its block or time: it was given, or may be yet.
      kUnknown,   // It may have been given. No record tells: its block was burned, or none is kept.
      kAlias,     // Somebody claimed it.
    };
    State state = State::kUnknown;
    std::string keyspace;
    Kind kind = Kind::kShuffled;  // Of the keyspace.
    std::optional<std::uint64_t> number = {};
    std::optional<std::int64_t> time_ms = {};  // When it was made, by the key itself. Since 1970.
    std::optional<std::uint32_t> worker = {};
    std::optional<std::uint32_t> sequence = {};
    std::string instance = {};  // Whom the store has noted for it; "" for nobody.
    // These four only of keys that the store remembers one by one. Times are since 1970.
    std::optional<std::int64_t> since_ms = {};  // When what is on record of it last changed.
    std::optional<std::int64_t> expires_at_ms = {};
    std::optional<std::uint64_t> generation = {};  // How often it has become available again.
    std::string owner = {};                        // Who claimed it; "" for nobody.
  };
  // Asks the store.
  // Errors:
  //   kNotFound     no such keyspace, or nobody can have got this key from it; the message says
  //                 which.
  //   kUnavailable  the store cannot be reached now; try again.
  virtual Result<Explanation> Explain(std::string_view keyspace, std::string_view key) = 0;

  // ---- Keys that the store remembers one by one. All of it needs a store that can: SQLite,
  // PostgreSQL, MariaDB, Redis or memory; with another one Claim is kFailedPrecondition, and so is
  // Create of the kinds that the others are for. ----

  // Claims `alias`, a key of the caller's own choice, for `owner`; of all who try, one succeeds.
  // The same owner may claim it again; with an owner of "" nobody can.
  // Errors:
  //   kAlreadyExists    it is somebody else's, or a key that was made some other way.
  //   kInvalidArgument  nobody can have it: it is not [A-Za-z0-9][A-Za-z0-9_-]{2,15}, or a reserved
  //                     word, or looks like a key that the keyspace makes; the message says which.
  //   kNotFound, kQuarantined, kUnavailable  as above.
  virtual Status Claim(std::string_view keyspace, std::string_view alias,
                       std::string_view owner) = 0;

  struct Derived {
    std::string key;
    bool existing = false;  // Whether the content has had it before.
  };
  // The key of `content` in a keyspace of kind derived: the same content, the same key, for ever.
  // With another salt, such as a user's id, it is another content. Up to 64 KiB and 1 KiB of any
  // bytes, which are not stored.
  // Errors:
  //   kInvalidArgument  the keyspace is of another kind, or wants a URL and gets none; or one of
  //                     the two is too long.
  //   kExhausted        too many of the keys that the content could have are taken.
  //   kNotFound, kQuarantined, kUnavailable  as above.
  virtual Result<Derived> Derive(std::string_view keyspace, std::string_view content,
                                 std::string_view salt = "") = 0;

  // Adds `count` new random keys to a keyspace of kind pool, in batches, and returns how many were
  // added. May take long; the mill itself adds some whenever few are left.
  // Errors:
  //   kInvalidArgument  the keyspace is of another kind.
  //   kExhausted        most keys that there can be are there; what could be added was.
  //   kNotFound, kQuarantined, kUnavailable  as above; earlier batches stay.
  virtual Result<std::uint64_t> FillPool(std::string_view keyspace, std::uint64_t count) = 0;

  // Gives a key back that its owner needs no more, to a keyspace of kind pool with `recycle`: it
  // becomes available again after the recipe's quarantine_s. Explain tells its generation, and with
  // that one said, the key of a later life is not taken from whoever has it then.
  // Errors:
  //   kInvalidArgument  the keyspace takes no keys back, or not this one: it was imported.
  //   kAlreadyExists    nobody has it: it is available, or was released before; or it is of another
  //                     generation. The message says which.
  //   kUnknownOutcome   it may be released or not. Call again: kAlreadyExists if it was.
  //   kNotFound         also when the keyspace has no such key.
  //   kQuarantined, kUnavailable  as above.
  virtual Status Release(std::string_view keyspace, std::string_view key,
                         std::optional<std::uint64_t> generation = {}) = 0;

 protected:
  Mill() = default;
};

}  // namespace keymill
