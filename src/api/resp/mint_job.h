// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One command that mints and is being answered. When there is nothing to take it waits for a block.
// When no block comes, an array holds the keys that there are; without a single one the answer says
// why.

#pragma once

#include <cstdint>
#include <string>

#include "api/backend.h"
#include "mint/counter_keyspace.h"
#include "mint/keyspace.h"
#include "net/session.h"

namespace keymill::api::resp {

// Numbers leave as integers up to here: above, clients that use doubles would lose digits.
inline constexpr std::uint64_t kIntegerLast = std::uint64_t{1} << 53;

// Keys in one answer, which is in memory as a whole. Whoever wants more sends more commands.
inline constexpr std::uint64_t kCountMax = 10'000;

// What became of a piece of work.
enum class Progress : std::uint8_t {
  kDone,    // It is answered.
  kParked,  // It goes on when the session is woken.
  kFlush,   // It goes on when the output has left and others have had their turn.
};

// What a command wants.
struct MintWish {
  enum class Form : std::uint8_t {
    kKey,      // One key.
    kArray,    // Up to `count` keys.
    kSet,      // The same, as a set where the protocol has them.
    kInteger,  // The last of `count` consecutive numbers.
  };
  Form form = Form::kKey;
  std::uint64_t count = 1;
};

// Appends up to `count` new keys to `output`. Returns how many.
std::uint32_t AppendKeys(mint::Keyspace& keyspace, std::uint32_t count, std::string& output);

// Appends up to `count` new numbers, none above kIntegerLast. Returns how many.
std::uint32_t AppendNumbers(mint::CounterKeyspace& sequence, std::uint32_t count,
                            std::string& output);

class MintJob {
 public:
  // `backend`, `keyspace` and `waker`, which wakes the session that the job belongs to, outlive the
  // job. `version` is RESP's.
  // REQUIRES: with kInteger, AsPlainSequence(keyspace).
  MintJob(const Backend& backend, mint::Keyspace& keyspace, const MintWish& wish, int version,
          MonotonicTime deadline, const net::Waker& waker);
  ~MintJob();
  MintJob(const MintJob&) = delete;
  MintJob& operator=(const MintJob&) = delete;

  // When the job gives up waiting.
  [[nodiscard]] MonotonicTime deadline() const { return deadline_; }

  // Whether the answer was an error, once it is done.
  [[nodiscard]] bool failed() const { return failed_; }

  // Mints as much as it can.
  Progress Continue(std::string& output);

 private:
  enum class Wait : std::uint8_t { kParked, kRetry, kOver };

  Progress TakeKeys(std::string& output);
  Progress TakeRun(std::string& output);
  // Nothing is there: waits for a block, or leaves in verdict_ why that is no use.
  Wait AwaitBlock();
  void StopWaiting();
  void AnswerKeys(std::string& output) const;
  Progress Fail(std::string_view error, std::string& output);

  const Backend& backend_;
  mint::Keyspace& keyspace_;
  const net::Waker& waker_;
  const MintWish wish_;
  const int version_;
  const MonotonicTime deadline_;
  std::uint64_t keys_ = 0;  // In body_.
  std::string body_;
  std::uint64_t waiter_ = 0;  // 0: does not wait for a block.
  Status verdict_;
  bool failed_ = false;
};

}  // namespace keymill::api::resp
