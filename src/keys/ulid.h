// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// ULIDs by the specification at github.com/ulid/spec: 48 bits of time and 80 random ones in 26
// symbols of Crockford's base32. Clock and randomness come from the caller.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::keys {

inline constexpr std::size_t kUlidTextSize = 26;

// The first millisecond that 48 bits of time do not hold: in the year 10889.
inline constexpr std::int64_t kUlidTimeEndMs = std::int64_t{1} << 48;

// 128 bits, compared as a number; texts compare the same way.
struct Ulid {
  std::uint64_t high = 0;  // 48 bits of time, then 16 random ones.
  std::uint64_t low = 0;

  [[nodiscard]] std::int64_t time_ms() const { return static_cast<std::int64_t>(high >> 16); }

  // clang-tidy 14 takes the default for a null pointer.
  friend auto operator<=>(const Ulid&, const Ulid&) = default;  // NOLINT(modernize-use-nullptr)
};

// The 26 symbols in upper case, to `out`.
void WriteUlid(const Ulid& ulid, char* out);
std::string UlidText(const Ulid& ulid);

// Takes either case, because the specification calls ULIDs case-insensitive. I, L, O and U are no
// symbols: the specification leaves them out and nowhere asks to guess what was meant.
// kInvalidArgument says what is wrong and where; a first symbol above 7 is more than 128 bits.
Result<Ulid> ParseUlid(std::string_view text);

// Makes ULIDs, each larger than the one before, whatever the clock does.
//
// The first one of a millisecond has 80 random bits; each further one is the one before plus 1, as
// the specification says, so that whoever knows one can tell those that follow. A clock that goes
// back is not followed: the last time stays until the clock has caught up.
//
// Two that run at once, in one process or two, repeat each other by chance only: with n keys each
// in one millisecond, once in 2^79 / n.
//
// Not safe for concurrent use: give each thread one of its own, or lock.
class UlidGenerator {
 public:
  // Random bytes that one call of Write needs, however many keys it makes.
  static constexpr std::size_t kRandomSize = 10;

  UlidGenerator() = default;
  // One whose keys are all larger than `last`.
  explicit UlidGenerator(const Ulid& last) : last_(last), any_(true) {}

  // Writes `count` keys of the wall clock's `now_ms`, each followed by `after`. A clock before 1970
  // counts as 1970. Random bytes must be used once only.
  //
  // Errors, with which nothing was written and nothing is used up:
  //   kOverloaded  the random part would pass 2^80 - 1 within the millisecond, where the
  //                specification says to fail. The next millisecond starts anew.
  //   kExhausted   48 bits of time are over. Permanent.
  // REQUIRES: `out` has room for count * (kUlidTextSize + after.size()) bytes.
  Status Write(std::int64_t now_ms, std::uint32_t count,
               std::span<const std::uint8_t, kRandomSize> random, std::string_view after,
               char* out);

 private:
  Ulid last_;
  bool any_ = false;  // Whether there is a last one.
};

}  // namespace keymill::keys
