// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "keys/check_symbol.h"
#include "keys/counting_text.h"
#include "keys/odometer.h"
#include "keys/uint128.h"

namespace keymill::keys {
namespace {

constexpr std::uint32_t kLengthMax = 32;
constexpr std::size_t kPrefixSizeMax = 16;
constexpr std::size_t kBatch = 64;               // Numbers permuted at a time, on the stack.
constexpr std::uint32_t kCountingMin = 32;       // Fewer are not worth laying out a turn.
constexpr std::uint32_t kGrowingDigitsMax = 63;  // Two symbols, the largest number.
static_assert(kPrefixSizeMax + kGrowingDigitsMax + 1 <= kKeySizeMax);
static_assert(kPrefixSizeMax + kLengthMax + 1 <= kKeySizeMax);

Status Refuse(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

// radix^exponent, or `cap` where that is smaller.
std::uint64_t PowerUpTo(std::uint64_t cap, std::uint32_t radix, std::uint32_t exponent) {
  std::uint64_t power = 1;
  for (std::uint32_t i = 0; i < exponent; ++i) {
    if (power > cap / radix) return cap;
    power *= radix;
  }
  return std::min(power, cap);
}

// Digits of the largest number that a growing key can hold.
std::uint32_t GrowingDigits(std::uint32_t radix) {
  std::uint32_t digits = 0;
  for (std::uint64_t left = kNumberEnd - 1; left > 0; left /= radix) ++digits;
  return digits;
}

Status CheckPrefix(std::string_view prefix) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '.' || c == '-';
  };
  if (prefix.size() <= kPrefixSizeMax && std::all_of(prefix.begin(), prefix.end(), allowed)) {
    return Status::Ok();
  }
  return Refuse(
      fmt::format("prefix: up to {} letters, digits, '_', '.' or '-' are allowed", kPrefixSizeMax));
}

Status CheckShuffledLength(std::uint32_t length, const Alphabet& alphabet) {
  // The range follows from the two limits: enough keys that trying them all is no attack,
  // and halves that FF1 can hold.
  const std::uint32_t radix = alphabet.size();
  constexpr auto kDomainMin = static_cast<std::uint64_t>(kShuffledDomainMin);
  std::uint32_t shortest = 2;
  while (PowerUpTo(kNumberEnd, radix, shortest) < kDomainMin) ++shortest;
  std::uint32_t longest = kLengthMax;
  while (PowerUpTo(kNumberEnd + 1, radix, longest - longest / 2) > kNumberEnd) --longest;
  if (length >= shortest && length <= longest) return Status::Ok();
  return Refuse(
      fmt::format("length: {} is not in {} to {}, the range of shuffled keys with {} "
                  "symbols in the alphabet (at least {} different keys)",
                  length, shortest, longest, radix, kDomainMin));
}

Status CheckLength(const Recipe& recipe, const Alphabet& alphabet) {
  if (recipe.kind == Kind::kShuffled) return CheckShuffledLength(recipe.length, alphabet);
  if (recipe.length <= kLengthMax) return Status::Ok();
  return Refuse(fmt::format("length: {} is not in 0 to {}", recipe.length, kLengthMax));
}

}  // namespace

struct Codec::Parts {
  Alphabet alphabet;
  Blocklist blocklist;
  std::uint64_t end = 0;
};

Result<Codec::Parts> Codec::Examine(const Recipe& recipe) {
  if (recipe.kind != Kind::kSequence && recipe.kind != Kind::kShuffled) {
    return Refuse("kind: unknown");
  }
  Result<Alphabet> alphabet = Alphabet::Parse(recipe.alphabet);
  if (!alphabet.ok()) return alphabet.status();
  if (Status status = CheckLength(recipe, *alphabet); !status.ok()) return status;
  if (Status status = CheckPrefix(recipe.prefix); !status.ok()) return status;
  if (recipe.check != CheckSymbol::kNone) {
    if (Status status = CheckSymbolAllowed(*alphabet); !status.ok()) return status;
  }
  const std::uint64_t end =
      recipe.length == 0 ? kNumberEnd : PowerUpTo(kNumberEnd, alphabet->size(), recipe.length);
  if (recipe.start >= end) {
    return Refuse(fmt::format("start: {} is not in 0 to {}", recipe.start, end - 1));
  }
  Result<Blocklist> blocklist = Blocklist::Make(recipe.blocklist);
  if (!blocklist.ok()) return blocklist.status();
  if (blocklist->Matches(recipe.prefix)) {
    return Refuse("blocklist: the prefix spells one of the words, so no key would be left");
  }
  return Parts{*std::move(alphabet), *std::move(blocklist), end};
}

Status Codec::Validate(const Recipe& recipe) { return Examine(recipe).status(); }

Result<Codec> Codec::Make(const Recipe& recipe, std::span<const std::uint8_t> secret,
                          AesPath path) {
  Result<Parts> parts = Examine(recipe);
  if (!parts.ok()) return parts.status();
  const std::size_t secret_size = recipe.kind == Kind::kShuffled ? kSecretSize : 0;
  if (secret.size() != secret_size) {
    return Refuse(fmt::format("secret: {} bytes, a keyspace of kind {} has {}", secret.size(),
                              KindName(recipe.kind), secret_size));
  }
  std::optional<Ff1> ff1;
  if (recipe.kind == Kind::kShuffled) {
    Result<Ff1> made = Ff1::Make({.radix = parts->alphabet.size(),
                                  .length = recipe.length,
                                  .key = secret,
                                  .tweak = {},
                                  .path = path});
    if (!made.ok()) return made.status();
    ff1 = *std::move(made);
  }
  return Codec(recipe, *std::move(parts), std::move(ff1));
}

Codec::Codec(const Recipe& recipe, Parts parts, std::optional<Ff1> ff1)
    : prefix_(recipe.prefix),
      alphabet_(std::move(parts.alphabet)),
      digits_(alphabet_.symbols()),
      blocklist_(std::move(parts.blocklist)),
      ff1_(std::move(ff1)),
      length_(recipe.length),
      check_(recipe.check == CheckSymbol::kAppended),
      begin_(recipe.start),
      end_(parts.end) {
  const std::uint32_t body = length_ == 0 ? GrowingDigits(alphabet_.size()) : length_;
  size_max_ = prefix_.size() + body + (check_ ? 1 : 0);
  KEYMILL_CHECK(size_max_ <= kKeySizeMax);
}

Codec::Written Codec::Encode(std::uint64_t first, std::uint32_t count, std::string_view after,
                             char* out) const {
  // A number past the end would wrap into a key that belongs to another one.
  KEYMILL_CHECK(first >= begin_ && first <= end_ && count <= end_ - first);
  return ff1_ ? EncodeShuffled(first, count, after, out) : EncodeSequence(first, count, after, out);
}

Codec::Written Codec::EncodeSequence(std::uint64_t first, std::uint32_t count,
                                     std::string_view after, char* out) const {
  const bool plain = !check_ && blocklist_.empty();
  if (plain && count >= kCountingMin) return EncodeCounting(first, count, after, out);
  return EncodeStepping(first, count, after, out);
}

Codec::Written Codec::EncodeStepping(std::uint64_t first, std::uint32_t count,
                                     std::string_view after, char* out) const {
  Written written;
  Odometer odometer(alphabet_.symbols(), length_, first);
  for (std::uint32_t i = 0; i < count; ++i, odometer.Step()) {
    char* key = out + written.bytes;
    const std::string_view body = odometer.text();
    std::memcpy(key, prefix_.data(), prefix_.size());
    std::memcpy(key + prefix_.size(), body.data(), body.size());
    Append(key, prefix_.size() + body.size(), after, written);
  }
  return written;
}

Codec::Written Codec::EncodeCounting(std::uint64_t first, std::uint32_t count,
                                     std::string_view after, char* out) const {
  Written written{.bytes = 0, .keys = count};
  CountingText text{prefix_, length_, after};
  while (count > 0) {
    std::uint64_t same = count;  // Numbers with as many digits as the first.
    if (length_ == 0) {
      text.length = 1;
      std::uint64_t beyond = alphabet_.size();
      while (beyond <= first) {
        ++text.length;
        // No number reaches the last power: it would not fit.
        beyond = beyond > kNumberEnd / alphabet_.size() ? kNumberEnd : beyond * alphabet_.size();
      }
      same = std::min(same, beyond - first);
    }
    char* const to = out + written.bytes;
    if (text.size() >= kCountingTextMin && text.size() <= kCountingTextMax) {
      WriteCounting(text, digits_, first, same, to);
    } else {
      EncodeStepping(first, static_cast<std::uint32_t>(same), after, to);
    }
    written.bytes += same * text.size();
    first += same;
    count -= static_cast<std::uint32_t>(same);
  }
  return written;
}

Codec::Written Codec::EncodeShuffled(std::uint64_t first, std::uint32_t count,
                                     std::string_view after, char* out) const {
  Written written;
  const bool plain = !check_ && blocklist_.empty();
  const std::uint64_t right_size = ff1_->right_size();
  const std::uint32_t left_digits = length_ / 2;
  Ff1::Halves next = {first / right_size, first % right_size};
  const Digits::Writer digits = digits_.writer();
  std::array<Ff1::Halves, kBatch> batch;
  while (count > 0) {
    const std::uint32_t taken = std::min<std::uint32_t>(count, kBatch);
    for (Ff1::Halves& halves : std::span(batch).first(taken)) {
      halves = next;
      if (++next.right == right_size) next = {next.left + 1, 0};
    }
    ff1_->Encrypt(std::span(batch).first(taken));
    for (const Ff1::Halves& halves : std::span(batch).first(taken)) {
      char* key = out + written.bytes;
      char* body = key + prefix_.size();
      std::memcpy(key, prefix_.data(), prefix_.size());
      digits.Write(halves.left, left_digits, body);
      digits.Write(halves.right, length_ - left_digits, body + left_digits);
      if (plain) {
        after.copy(body + length_, after.size());
        written.bytes += prefix_.size() + length_ + after.size();
        ++written.keys;
      } else {
        Append(key, prefix_.size() + length_, after, written);
      }
    }
    count -= taken;
  }
  return written;
}

// Completes the key whose prefix and body are at `key`, `size` bytes in all, or leaves it
// to be overwritten when the blocklist has something against it.
void Codec::Append(char* key, std::size_t size, std::string_view after, Written& written) const {
  if (check_) {
    const std::string_view body(key + prefix_.size(), size - prefix_.size());
    key[size++] = ComputeCheckSymbol(alphabet_, body);
  }
  if (!blocklist_.empty() && blocklist_.Matches({key, size})) return;
  after.copy(key + size, after.size());  // Unlike memcpy, at ease with a null view.
  written.bytes += size + after.size();
  ++written.keys;
}

Result<std::uint64_t> Codec::Decode(std::string_view key) const {
  if (!key.starts_with(prefix_)) {
    return Refuse(fmt::format("key: does not begin with \"{}\"", prefix_));
  }
  std::string_view body = key.substr(prefix_.size());
  if (Status status = CheckText(body); !status.ok()) return status;
  if (check_) body.remove_suffix(1);
  const std::uint64_t number = ff1_ ? Unshuffle(body) : Value(body);
  if (number < begin_ || number >= end_) {
    return Refuse("key: stands for a number outside this keyspace");
  }
  if (blocklist_.Matches(key)) return Refuse("key: spells a blocked word");
  return number;
}

// Where the symbols are counted from, if that is not the beginning.
std::string_view Codec::AfterPrefix() const { return prefix_.empty() ? "" : " after the prefix"; }

// Whether `text`, a key without its prefix, has the form of one.
Status Codec::CheckText(std::string_view text) const {
  const std::size_t extra = check_ ? 1 : 0;
  const std::size_t longest = size_max_ - prefix_.size();
  const std::size_t shortest = length_ == 0 ? 1 + extra : longest;
  if (text.size() < shortest || text.size() > longest) {
    const std::string range = shortest == longest ? fmt::format("{}", longest)
                                                  : fmt::format("{} to {}", shortest, longest);
    return Refuse(fmt::format("key: has {} symbols{}, not {}", text.size(), AfterPrefix(), range));
  }
  const std::string_view body = text.substr(0, text.size() - extra);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (alphabet_.digit(body[i]) < 0) {
      return Refuse(fmt::format("key: has a symbol at position {}{} that is not in the alphabet {}",
                                i + 1, AfterPrefix(), alphabet_.name()));
    }
  }
  if (check_ && ComputeCheckSymbol(alphabet_, body) != text.back()) {
    return Refuse("key: has a check symbol that does not match, so it was mistyped");
  }
  if (length_ == 0 && body.size() > 1 && alphabet_.digit(body.front()) == 0) {
    return Refuse("key: begins with a zero that its number does not have");
  }
  return Status::Ok();
}

std::uint64_t Codec::Value(std::string_view digits) const {
  std::uint64_t value = 0;
  for (const char c : digits) {
    const auto digit = static_cast<std::uint64_t>(alphabet_.digit(c));
    if (value > (kNumberEnd - 1 - digit) / alphabet_.size()) return kNumberEnd;
    value = value * alphabet_.size() + digit;
  }
  return value;
}

std::uint64_t Codec::Unshuffle(std::string_view body) const {
  const std::uint32_t left_digits = length_ / 2;
  Ff1::Halves halves = {Value(body.substr(0, left_digits)), Value(body.substr(left_digits))};
  ff1_->Decrypt({&halves, 1});
  // The alphabet's domain may be far larger than the numbers that we use of it.
  const Uint128 number = static_cast<Uint128>(halves.left) * ff1_->right_size() + halves.right;
  return number < kNumberEnd ? static_cast<std::uint64_t>(number) : kNumberEnd;
}

}  // namespace keymill::keys
