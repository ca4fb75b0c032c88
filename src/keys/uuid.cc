// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/uuid.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"

namespace keymill::keys {
namespace {

constexpr std::uint32_t kCounterBits = 42;
constexpr std::uint64_t kCounterEnd = std::uint64_t{1} << kCounterBits;
constexpr std::uint64_t kSeedEnd = kCounterEnd / 2;
constexpr std::uint32_t kCounterLowBits = 30;  // In rand_b; the other 12 are rand_a.

constexpr std::uint64_t kVariantBits = std::uint64_t{0b10} << 62;
constexpr std::uint64_t kVariantMask = std::uint64_t{0b11} << 62;
constexpr std::uint64_t kVersionMask = std::uint64_t{0xF} << 12;

// 100 ns steps from 1582-10-15, where versions 1 and 6 begin, to 1970.
constexpr std::int64_t kGregorianSteps = 0x01B21DD213814000;

// Positions of the hyphens, and of the digits between them.
constexpr std::array<std::size_t, 4> kHyphens = {8, 13, 18, 23};

using Pair = std::array<char, 2>;

constexpr std::array<Pair, 256> kHexPairs = [] {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<Pair, 256> pairs{};
  for (std::size_t byte = 0; byte < pairs.size(); ++byte) {
    pairs[byte] = {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return pairs;
}();

// The `count` uppermost bytes of `value`, which is shifted on.
char* WriteBytes(std::uint64_t& value, int count, char* out) {
  for (; count > 0; --count, out += 2, value <<= 8) {
    std::memcpy(out, kHexPairs[value >> 56].data(), sizeof(Pair));
  }
  return out;
}

std::uint64_t LoadBytes(const std::uint8_t* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Status Refuse(const std::string& why) {
  return {Code::kInvalidArgument,
          fmt::format("uuid: {}; it looks like 017f22e2-79b0-7cc3-98c4-dc0c0c07398f", why)};
}

std::int64_t GregorianToMs(std::uint64_t steps) {
  const std::int64_t since_1970 = static_cast<std::int64_t>(steps) - kGregorianSteps;
  return (since_1970 >= 0 ? since_1970 : since_1970 - 9'999) / 10'000;
}

Uuid Uuid7Of(std::int64_t time_ms, std::uint64_t counter, std::uint32_t tail) {
  const std::uint64_t counter_low = counter & ((std::uint64_t{1} << kCounterLowBits) - 1);
  return MakeUuid7(time_ms, static_cast<std::uint32_t>(counter >> kCounterLowBits),
                   counter_low << 32 | tail);
}

}  // namespace

UuidVariant VariantOf(const Uuid& uuid) {
  if (uuid.low >> 63 == 0) return UuidVariant::kNcs;
  if (uuid.low >> 62 == 0b10) return UuidVariant::kRfc9562;
  return uuid.low >> 61 == 0b110 ? UuidVariant::kMicrosoft : UuidVariant::kFuture;
}

std::uint32_t VersionOf(const Uuid& uuid) {
  if (VariantOf(uuid) != UuidVariant::kRfc9562) return 0;
  return static_cast<std::uint32_t>(uuid.high >> 12 & 0xF);
}

std::optional<std::int64_t> TimeMsOf(const Uuid& uuid) {
  const std::uint64_t high = uuid.high;
  switch (VersionOf(uuid)) {
    case 1:  // The lowest 32 bits first, then 16, then the uppermost 12.
      return GregorianToMs((high & 0xFFF) << 48 | (high >> 16 & 0xFFFF) << 32 | high >> 32);
    case 6:
      return GregorianToMs(high >> 16 << 12 | (high & 0xFFF));
    case 7:
      return static_cast<std::int64_t>(high >> 16);
    default:
      return std::nullopt;
  }
}

void WriteUuid(const Uuid& uuid, char* out) {
  std::uint64_t high = uuid.high;
  std::uint64_t low = uuid.low;
  out = WriteBytes(high, 4, out);
  *out++ = '-';
  out = WriteBytes(high, 2, out);
  *out++ = '-';
  out = WriteBytes(high, 2, out);
  *out++ = '-';
  out = WriteBytes(low, 2, out);
  *out++ = '-';
  WriteBytes(low, 6, out);
}

std::string UuidText(const Uuid& uuid) {
  std::string text(kUuidTextSize, '\0');
  WriteUuid(uuid, text.data());
  return text;
}

Result<Uuid> ParseUuid(std::string_view text) {
  if (text.size() != kUuidTextSize) {
    return Refuse(fmt::format("{} characters, not {}", text.size(), kUuidTextSize));
  }
  Uuid uuid;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::find(kHyphens.begin(), kHyphens.end(), i) != kHyphens.end()) {
      if (text[i] != '-') return Refuse(fmt::format("character {} is no hyphen", i + 1));
      continue;
    }
    const int digit = HexDigit(text[i]);
    if (digit < 0) return Refuse(fmt::format("character {} is no hexadecimal digit", i + 1));
    std::uint64_t& half = i < kHyphens[2] ? uuid.high : uuid.low;
    half = half << 4 | static_cast<std::uint64_t>(digit);
  }
  return uuid;
}

Uuid MakeUuid4(std::span<const std::uint8_t, kUuid4RandomSize> random) {
  const std::uint64_t high = LoadBytes(random.data(), 8);
  const std::uint64_t low = LoadBytes(random.data() + 8, 8);
  return {.high = (high & ~kVersionMask) | std::uint64_t{4} << 12,
          .low = (low & ~kVariantMask) | kVariantBits};
}

void WriteUuid4s(std::span<const std::uint8_t> random, std::string_view after, char* out) {
  for (; random.size() >= kUuid4RandomSize; random = random.subspan(kUuid4RandomSize)) {
    WriteUuid(MakeUuid4(random.first<kUuid4RandomSize>()), out);
    after.copy(out + kUuidTextSize, after.size());
    out += kUuidTextSize + after.size();
  }
}

Uuid MakeUuid7(std::int64_t time_ms, std::uint32_t rand_a, std::uint64_t rand_b) {
  // E1: a field that spills into its neighbour would be another key.
  KEYMILL_CHECK(time_ms >= 0 && time_ms < kUuidTimeEndMs && rand_a >> 12 == 0 && rand_b >> 62 == 0);
  return {.high = static_cast<std::uint64_t>(time_ms) << 16 | std::uint64_t{7} << 12 | rand_a,
          .low = kVariantBits | rand_b};
}

Uuid7Generator::Uuid7Generator(const Uuid& last) {
  KEYMILL_CHECK(VersionOf(last) == 7);
  const std::uint64_t counter =
      (last.high & 0xFFF) << kCounterLowBits | (last.low & ~kVariantMask) >> 32;
  state_ = {.time_ms = *TimeMsOf(last), .counter = counter + 1};
}

Uuid7Generator::State Uuid7Generator::Begin(std::int64_t now_ms, std::uint64_t seed) const {
  const std::int64_t time_ms = std::max<std::int64_t>(now_ms, 0);
  return time_ms > state_.time_ms ? State{.time_ms = time_ms, .counter = seed} : state_;
}

Status Uuid7Generator::Write(std::int64_t now_ms, std::uint32_t count,
                             std::span<const std::uint8_t> random, std::string_view after,
                             char* out) {
  KEYMILL_CHECK(random.size() >= RandomSize(count));
  const std::uint64_t seed = LoadBytes(random.data(), kSeedSize) % kSeedEnd;
  State state = Begin(now_ms, seed);
  // Half of the counter is more than any count: the time goes forward once at most.
  const bool rolls = count > kCounterEnd - state.counter;
  if (state.time_ms + (rolls ? 1 : 0) >= kUuidTimeEndMs) {
    return {Code::kExhausted, "uuid7: the 48 bits of time are over; use uuid4"};
  }
  const std::uint8_t* tail = random.data() + kSeedSize;
  for (std::uint32_t i = 0; i < count; ++i, tail += kRandomPerKey) {
    if (state.counter == kCounterEnd) state = {.time_ms = state.time_ms + 1, .counter = seed};
    const auto bits = static_cast<std::uint32_t>(LoadBytes(tail, kRandomPerKey));
    WriteUuid(Uuid7Of(state.time_ms, state.counter, bits), out);
    after.copy(out + kUuidTextSize, after.size());
    out += kUuidTextSize + after.size();
    ++state.counter;
  }
  state_ = state;
  return Status::Ok();
}

}  // namespace keymill::keys
