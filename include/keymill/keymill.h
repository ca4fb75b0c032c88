// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keymill as a library. Start here:
//
//   auto mill = keymill::Mill::Open({.data_dir = "data"});
//   if (!mill.ok()) return Fail(mill.status().message());
//   auto key = (*mill)->Next("default");
//   if (key.ok()) Use(*key);
//
// The keys are unique across threads, processes and restarts as long as they come from one
// store. Several processes may open the same one.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"

namespace keymill {

struct MillOptions {
  // The directory of the database and of the witness that guards it.
  std::string data_dir = "data";

  // Which store: sqlite:PATH (relative to data_dir), or memory: for tests.
  std::string store = "sqlite:keymill.db";

  // Whether a missing database is created. Even then it is not when a witness in data_dir
  // remembers one: it was lost, and starting anew would repeat its keys.
  bool create = true;

  // Numbers in the first block. Larger: fewer writes, and a larger gap after a crash.
  std::uint32_t block_size = 1000;

  // The longest that a call waits for the store.
  std::chrono::milliseconds timeout{2'000};

  // Whether messages go to stderr.
  bool log = false;
};

// An open store and the blocks that were reserved from it. Safe for concurrent use by
// multiple threads. After fork() a child may go on using it: it drops what it inherited and
// opens the store anew.
class Mill {
 public:
  // Errors:
  //   kInvalidArgument     an option cannot be.
  //   kFailedPrecondition  the store is refused; the message says what to do.
  //   kUnavailable         the store cannot be reached now.
  static Result<std::unique_ptr<Mill>> Open(const MillOptions& options = {});

  // Gives back what was reserved and not used.
  virtual ~Mill() = default;
  Mill(const Mill&) = delete;
  Mill& operator=(const Mill&) = delete;

  // Makes sure that a keyspace with this recipe exists. "default" always does.
  // Errors:
  //   kInvalidArgument     the name or the recipe cannot be.
  //   kFailedPrecondition  it exists with another recipe; the message says what differs.
  virtual Status Create(std::string_view keyspace, const Recipe& recipe) = 0;

  // A key that nobody was given before.
  // Errors:
  //   kNotFound         no such keyspace.
  //   kExhausted        it has no keys left.
  //   kQuarantined      its store went back in time; an operator must look.
  //   kUnavailable, kDeadlineExceeded  no block could be had in time; try again.
  virtual Result<std::string> Next(std::string_view keyspace) = 0;

  // `count` of them; fewer only when the keyspace ends or the store stays away, never none.
  virtual Result<std::vector<std::string>> Next(std::string_view keyspace, std::uint64_t count) = 0;

 protected:
  Mill() = default;
};

}  // namespace keymill
