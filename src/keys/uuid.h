// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// UUIDs by RFC 9562: text and back, what one tells about itself, version 4 from random bytes, and
// version 7 in strictly increasing order. Clock and randomness come from the caller.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::keys {

inline constexpr std::size_t kUuidTextSize = 36;

// The first millisecond that 48 bits of time do not hold: in the year 10889.
inline constexpr std::int64_t kUuidTimeEndMs = std::int64_t{1} << 48;

// 128 bits, compared as a number; texts compare the same way.
struct Uuid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  // clang-tidy 14 takes the default for a null pointer.
  friend auto operator<=>(const Uuid&, const Uuid&) = default;  // NOLINT(modernize-use-nullptr)
};

enum class UuidVariant : std::uint8_t {
  kNcs,        // 0…: before all standards. The nil UUID too.
  kRfc9562,    // 10…
  kMicrosoft,  // 110…
  kFuture,     // 111…: nobody's yet. The max UUID too.
};
UuidVariant VariantOf(const Uuid& uuid);

// 1 to 15 by the version field, of which the RFC defines 1 to 8; 0 when there is none, because the
// variant is another.
std::uint32_t VersionOf(const Uuid& uuid);

// Milliseconds since 1970 of versions 1, 6 and 7, rounded down; nothing for others. Versions 1 and
// 6 begin in 1582, so it may be negative.
std::optional<std::int64_t> TimeMsOf(const Uuid& uuid);

// The 36 characters in lower case, to `out`.
void WriteUuid(const Uuid& uuid, char* out);
std::string UuidText(const Uuid& uuid);

// Takes the 8-4-4-4-12 form, in either case as the RFC asks, and nothing else: no braces, no
// "urn:uuid:", no missing hyphens. Any version and variant.
// kInvalidArgument says what is wrong and where.
Result<Uuid> ParseUuid(std::string_view text);

inline constexpr std::size_t kUuid4RandomSize = 16;

// All random but version and variant.
Uuid MakeUuid4(std::span<const std::uint8_t, kUuid4RandomSize> random);

// Writes as many keys as there are 16 random bytes, each followed by `after`.
// REQUIRES: random.size() is a multiple of 16; `out` has room for (36 + after.size()) bytes a key.
void WriteUuid4s(std::span<const std::uint8_t> random, std::string_view after, char* out);

// A version 7 of these fields. REQUIRES: 0 <= time_ms < kUuidTimeEndMs, 12 and 62 bits.
Uuid MakeUuid7(std::int64_t time_ms, std::uint32_t rand_a, std::uint64_t rand_b);

// Makes version 7 keys, each larger than the one before, whatever the clock does.
//
// RFC 9562 section 6.2 method 1 with a counter of 42 bits (all of rand_a and 30 bits of rand_b);
// the 32 bits behind it are random in every key. A new millisecond starts the counter anew at a
// random number below 2^41, so that at least 2^41 keys fit; should they not, the time is taken
// forward by a millisecond and the counter starts anew. A clock that goes back is not followed:
// the last time stays until the clock has caught up, and only the counter goes on.
//
// Two that run at once, in one process or two, repeat each other by chance only: with n keys each
// in one millisecond, about n^2 times in 2^73.
//
// Not safe for concurrent use: give each thread one of its own, or lock.
class Uuid7Generator {
 public:
  // Random bytes that one call of Write needs, once and for each key.
  static constexpr std::size_t kSeedSize = 6;
  static constexpr std::size_t kRandomPerKey = 4;

  static constexpr std::size_t RandomSize(std::uint32_t count) {
    return kSeedSize + count * kRandomPerKey;
  }

  Uuid7Generator() = default;
  // One whose keys are all larger than `last`. REQUIRES: VersionOf(last) == 7
  explicit Uuid7Generator(const Uuid& last);

  // Writes `count` keys of the wall clock's `now_ms`, each followed by `after`. A clock before 1970
  // counts as 1970. Random bytes must be used once only.
  //
  // Errors, with which nothing was written and nothing is used up:
  //   kExhausted  48 bits of time are over. Permanent.
  // REQUIRES: random has RandomSize(count) bytes; `out` has room for
  //           count * (kUuidTextSize + after.size()) bytes.
  Status Write(std::int64_t now_ms, std::uint32_t count, std::span<const std::uint8_t> random,
               std::string_view after, char* out);

 private:
  struct State {
    std::int64_t time_ms = -1;  // Of the last key. -1: none yet.
    std::uint64_t counter = 0;  // The next key's.
  };

  // The state that a call at `now_ms` starts from.
  [[nodiscard]] State Begin(std::int64_t now_ms, std::uint64_t seed) const;

  State state_;
};

}  // namespace keymill::keys
