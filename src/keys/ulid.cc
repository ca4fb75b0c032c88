// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/ulid.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace keymill::keys {
namespace {

constexpr std::string_view kSymbols = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

constexpr std::size_t kTimeSymbols = 10;
constexpr std::size_t kHalfSymbols = 8;  // Of the random part: 40 bits each.
constexpr std::uint64_t kLowMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kHighRandomMax = 0xFFFF;

constexpr std::array<std::int16_t, 256> kDigits = [] {
  std::array<std::int16_t, 256> digits{};
  digits.fill(-1);
  for (std::size_t i = 0; i < kSymbols.size(); ++i) {
    const char symbol = kSymbols[i];
    digits[static_cast<unsigned char>(symbol)] = static_cast<std::int16_t>(i);
    if (symbol >= 'A') {
      digits[static_cast<unsigned char>(symbol - 'A' + 'a')] = static_cast<std::int16_t>(i);
    }
  }
  return digits;
}();

template <std::size_t kCount>
void WriteSymbols(std::uint64_t value, char* out) {
  for (std::size_t i = kCount; i-- > 0; value >>= 5) out[i] = kSymbols[value & 31];
}

void WriteRandomPart(const Ulid& ulid, char* out) {
  WriteSymbols<kHalfSymbols>((ulid.high & kHighRandomMax) << 24 | ulid.low >> 40, out);
  WriteSymbols<kHalfSymbols>(ulid.low, out + kHalfSymbols);
}

std::uint64_t LoadBytes(const std::uint8_t* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

Status Refuse(const std::string& why) {
  return {Code::kInvalidArgument,
          fmt::format("ulid: {}; it looks like 01ARZ3NDEKTSV4RRFFQ69G5FAV", why)};
}

// Whether `add` more fit into the random part.
bool HasRoom(const Ulid& ulid, std::uint64_t add) {
  return (ulid.high & kHighRandomMax) != kHighRandomMax || kLowMax - ulid.low >= add;
}

// REQUIRES: HasRoom(ulid, 1)
void Increment(Ulid& ulid) {
  if (++ulid.low == 0) ++ulid.high;
}

}  // namespace

void WriteUlid(const Ulid& ulid, char* out) {
  WriteSymbols<kTimeSymbols>(ulid.high >> 16, out);
  WriteRandomPart(ulid, out + kTimeSymbols);
}

std::string UlidText(const Ulid& ulid) {
  std::string text(kUlidTextSize, '\0');
  WriteUlid(ulid, text.data());
  return text;
}

Result<Ulid> ParseUlid(std::string_view text) {
  if (text.size() != kUlidTextSize) {
    return Refuse(fmt::format("{} characters, not {}", text.size(), kUlidTextSize));
  }
  Ulid ulid;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int digit = kDigits[static_cast<unsigned char>(text[i])];
    if (digit < 0) {
      return Refuse(fmt::format("character {} is none of {}", i + 1, kSymbols));
    }
    if (i == 0 && digit > 7) {
      return Refuse("the first character is above 7, and so the number above 128 bits");
    }
    ulid.high = ulid.high << 5 | ulid.low >> 59;
    ulid.low = ulid.low << 5 | static_cast<std::uint64_t>(digit);
  }
  return ulid;
}

Status UlidGenerator::Write(std::int64_t now_ms, std::uint32_t count,
                            std::span<const std::uint8_t, kRandomSize> random,
                            std::string_view after, char* out) {
  if (count == 0) return Status::Ok();
  const std::int64_t time_ms = std::max<std::int64_t>(now_ms, 0);
  if (time_ms >= kUlidTimeEndMs) {
    return {Code::kExhausted, "ulid: the 48 bits of time are over; use uuid4"};
  }
  const bool anew = !any_ || time_ms > last_.time_ms();
  Ulid next = last_;
  if (anew) {
    next.high = static_cast<std::uint64_t>(time_ms) << 16 | LoadBytes(random.data(), 2);
    next.low = LoadBytes(random.data() + 2, 8);
  }
  // The first key of a millisecond is the random number itself.
  const std::uint64_t increments = anew ? count - 1 : count;
  if (!HasRoom(next, increments)) {
    if (!anew && last_.time_ms() == kUlidTimeEndMs - 1) {
      return {Code::kExhausted, "ulid: the 48 bits of time are over; use uuid4"};
    }
    return {Code::kOverloaded,
            "ulid: no room for that many in this millisecond; try again in the next one"};
  }
  if (!anew) Increment(next);
  std::array<char, kTimeSymbols> time{};
  WriteSymbols<kTimeSymbols>(next.high >> 16, time.data());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0) Increment(next);
    std::memcpy(out, time.data(), time.size());
    WriteRandomPart(next, out + kTimeSymbols);
    after.copy(out + kUlidTextSize, after.size());
    out += kUlidTextSize + after.size();
  }
  last_ = next;
  any_ = true;
  return Status::Ok();
}

}  // namespace keymill::keys
