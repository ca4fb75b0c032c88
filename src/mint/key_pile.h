// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys of a pool that may leave without another word to the store: all of them are marked as used
// there, in batches under one token each.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"

#include "keys/written.h"

namespace keymill::mint {

// Not for concurrent use.
class KeyPile {
 public:
  // `key_size`: of every key.
  explicit KeyPile(std::size_t key_size) : key_size_(key_size) {}

  // Until when the keys of a batch may leave, by two clocks, of which either may be wrong.
  struct UseBy {
    [[nodiscard]] bool IsOver(MonotonicTime now, std::int64_t now_ms) const {
      return now >= monotonic || now_ms >= wall_ms;
    }

    MonotonicTime monotonic = MonotonicTime::max();
    std::int64_t wall_ms = INT64_MAX;
  };
  struct Batch {
    std::string token;
    std::vector<std::string> keys;
    UseBy use_by = {};
    std::string gone = {};  // A key of it that has left before; "" when none has.
  };
  void Add(const Batch& batch);

  // Whether it matters what time it is.
  [[nodiscard]] bool ages() const { return ages_; }

  // Writes up to `count` keys to `out`, each followed by `after`. Allocates and frees nothing.
  keys::Written Take(std::uint32_t count, std::string_view after, char* out);

  // Keys that are too old leave no more from now on. Allocates and frees nothing.
  void GiveUpOld(MonotonicTime now, std::int64_t wall_ms);
  // What was given up; nothing of it is left here.
  std::vector<Batch> TakeOld();

  // Keys that Take would give.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  // What is left of each batch, also of those that were given up; nothing is left here.
  std::vector<Batch> Clear();

  // A key of the newest batch and its token: the last that leaves.
  struct Sample {
    std::string key;
    std::string token;
  };
  [[nodiscard]] std::optional<Sample> Newest() const;

 private:
  struct Stack {
    // What Take would give.
    [[nodiscard]] bool HasAny() const { return !old && next < text.size(); }

    std::string token;
    std::string text;      // Keys one after another,
    std::size_t next = 0;  // of which those before this byte are gone.
    UseBy use_by;
    bool old = false;  // Given up: the rest leaves no more.
  };

  [[nodiscard]] Batch RestOf(const Stack& stack) const;

  const std::size_t key_size_;
  std::deque<Stack> stacks_;
  std::size_t front_ = 0;  // The first that has any left. Those before it go with the next Add.
  std::uint64_t size_ = 0;
  bool ages_ = false;
  bool has_old_ = false;
};

}  // namespace keymill::mint
