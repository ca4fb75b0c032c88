// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Everything in one store to another, for ever: the first is sealed before anything is read, the
// second cannot be used before all of it has arrived.

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "keymill/clock.h"
#include "keymill/status.h"

namespace keymill::embed {

struct CopyOptions {
  std::string from;
  std::string to;
  std::filesystem::path data_dir;   // Where relative paths begin, and perhaps a witness lies.
  std::string accept_unsafe_store;  // As for an engine, about `to`.
  // The seal may name another target already, which was never used.
  bool instead = false;
  // Called once if every running instance has yet to compare what it has seen of `from`, with how
  // long that may take.
  std::function<void(std::chrono::milliseconds)> on_wait = {};
};

struct CopyReport {
  std::string from;  // As people may see them: no passwords.
  std::string to;
  std::uint64_t keyspaces = 0;
  std::uint64_t rows = 0;  // Of their ledgers.
  std::uint64_t keys = 0;  // That they remember one by one.
  bool was_done = false;   // By an earlier call; nothing was left to do.
};

// `progress` gets the name of each keyspace and the share of it that is done, in [0, 1].
// Whatever ends it in the middle, even a crash: call it again with the same two.
// Errors:
//   kInvalidArgument     a URL names no store, or both name the same.
//   kNotFound            there is nothing at `from`.
//   kFailedPrecondition  `to` is not empty or not safe, or cannot keep single keys and `from` has
//                        some; `from` has a quarantined keyspace, is
//                        behind the witness, or went somewhere else before. Nothing was changed,
//                        unless the message says so.
//   kUnavailable, kUnknownOutcome  call it again.
Result<CopyReport> CopyStore(const CopyOptions& options, const Clock& clock,
                             const std::function<void(const std::string&, double)>& progress);

}  // namespace keymill::embed
