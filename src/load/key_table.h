// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A set of keys in a fixed amount of memory, with what is known of each of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "load/key_hash.h"

namespace keymill::load {

// Where a key was seen, as places in the stream of all lines, and how often.
struct Sightings {
  std::uint64_t first = 0;
  std::uint64_t second = 0;  // 0 when count is 1.
  std::uint64_t count = 1;
};

// Not safe for concurrent use.
class KeyTable {
 public:
  // REQUIRES: kMemoryMin <= memory_max <= kMemoryMax
  explicit KeyTable(std::size_t memory_max);

  static constexpr std::size_t kMemoryMin = std::size_t{1} << 16;
  static constexpr std::size_t kMemoryMax = std::size_t{1} << 39;

  // Forgets all keys. The hash of every key added from now on is `hash`'s; about
  // `expected` keys will come.
  void Reset(KeyHash hash, std::uint64_t expected);

  // Adds `sightings` to those of `key`. Returns false, and changes nothing, when the key is
  // new and no memory is left for it.
  // REQUIRES: hashed is the hash of `key`; sightings.first grows from call to call; the key
  // has at most 2^16 - 1 bytes.
  bool Add(std::string_view key, std::uint64_t hashed, const Sightings& sightings);

  // Starts to fetch what Add will look at, so that the memory's answer is there by then.
  void Prefetch(std::uint64_t hashed) const {
    __builtin_prefetch(&slots_[hashed & (slots_.size() - 1)], 1);
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t repeated() const { return repeats_.size(); }

  // Calls visit(key, sightings) for every key, in order of first sight.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (std::size_t offset = 0; offset < arena_used_;) {
      const Entry entry = EntryAt(offset);
      visit(entry.key, SightingsOf(entry));
      offset += kEntryHead + entry.key.size();
    }
  }

  // The same for the keys that were seen more than once, in order of the second sight here.
  template <typename Visit>
  void ForEachRepeated(const Visit& visit) const {
    for (const Repeat& repeat : repeats_) visit(EntryAt(repeat.offset).key, repeat.sightings);
  }

 private:
  // In the arena: eight bytes `place`, two bytes of length, the key. `place` is the first
  // place of the key or, once it was seen again, kRepeated + its index in repeats_.
  struct Entry {
    std::uint64_t place;
    std::string_view key;
  };
  struct Repeat {
    std::size_t offset;
    Sightings sightings;
  };
  static constexpr std::uint64_t kRepeated = std::uint64_t{1} << 63;
  static constexpr std::size_t kEntryHead = 10;

  // A slot is 0 when free, else the entry's offset + 1 below 24 bits of the key's hash.
  static constexpr int kOffsetBits = 40;
  static constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kOffsetBits) - 1;

  [[nodiscard]] Entry EntryAt(std::size_t offset) const;
  [[nodiscard]] Sightings SightingsOf(const Entry& entry) const;
  [[nodiscard]] std::size_t MemoryUsed() const;
  // Returns false when that would take too much memory.
  bool Grow();
  bool Repeated(std::size_t offset, const Sightings& sightings);
  bool Append(std::string_view key, std::uint64_t hashed, const Sightings& sightings);

  const std::size_t memory_max_;
  const std::unique_ptr<char[]> arena_;  // memory_max_ bytes; pages unused cost nothing.
  KeyHash hash_;
  std::size_t arena_used_ = 0;
  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> slots_;  // A power of two of them, three quarters full at most.
  std::deque<Repeat> repeats_;
};

}  // namespace keymill::load
