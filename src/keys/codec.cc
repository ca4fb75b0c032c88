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
#include "keys/snowflake_layout.h"
#include "keys/uint128.h"

namespace keymill::keys {
namespace {

constexpr std::uint32_t kLengthMax = 32;
constexpr std::size_t kPrefixSizeMax = 16;
constexpr std::size_t kBatch = 64;               // Numbers permuted at a time, on the stack.
constexpr std::uint32_t kCountingMin = 32;       // Fewer are not worth laying out a turn.
constexpr std::uint32_t kGrowingDigitsMax = 63;  // Two symbols, the largest number.
// What a ticket leaves of its right half: two halves of this size are the smallest domain.
constexpr std::uint64_t kTicketHalfMin = 1000;
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

// The largest stride with which shuffled tickets of this length have keys enough. The right half
// alone tells authorities apart, so that it is what a stride divides.
std::uint64_t ShuffledStrideMax(std::uint32_t radix, std::uint32_t length) {
  const std::uint64_t left = PowerUpTo(kNumberEnd, radix, length / 2);
  const std::uint64_t right = PowerUpTo(kNumberEnd, radix, length - length / 2);
  constexpr auto kDomainMin = static_cast<std::uint64_t>(kShuffledDomainMin);
  return right / std::max(kTicketHalfMin, (kDomainMin + left - 1) / left);
}

Status CheckShuffledTicket(const Recipe& recipe, const Alphabet& alphabet) {
  if (Status status = CheckShuffledLength(recipe.length, alphabet); !status.ok()) return status;
  const std::uint64_t most = ShuffledStrideMax(alphabet.size(), recipe.length);
  if (recipe.stride <= most) return {};
  std::uint32_t enough = recipe.length + 1;
  while (CheckShuffledLength(enough, alphabet).ok() &&
         ShuffledStrideMax(alphabet.size(), enough) < recipe.stride) {
    ++enough;
  }
  const bool any = CheckShuffledLength(enough, alphabet).ok();
  const std::string smaller = most > 0 ? fmt::format(", or a stride of at most {}", most) : "";
  return Refuse(fmt::format(
      "stride: {} leaves each ticket too few shuffled keys of length {} (at least {} are needed, "
      "of which the second half of a key must tell {}); use {}{}",
      recipe.stride, recipe.length, static_cast<std::uint64_t>(kShuffledDomainMin), kTicketHalfMin,
      any ? fmt::format("length {}", enough) : "an alphabet of more symbols", smaller));
}

Status CheckTicket(const Recipe& recipe) {
  if (recipe.counter != Kind::kSequence && recipe.counter != Kind::kShuffled) {
    return Refuse("counter: neither sequence nor shuffled");
  }
  if (recipe.stride < 1 || recipe.stride > kStrideMax) {
    return Refuse(fmt::format("stride: {} is not in 1 to {}", recipe.stride, kStrideMax));
  }
  if (recipe.offset < 1 || recipe.offset > recipe.stride) {
    return Refuse(
        fmt::format("offset: {} is not in 1 to {}, the stride", recipe.offset, recipe.stride));
  }
  return {};
}

// How many indices a ticket has where numbers end at `end`.
std::uint64_t TicketEnd(const Recipe& recipe, const Alphabet& alphabet, std::uint64_t end) {
  const std::uint64_t fit = recipe.offset < end ? (end - 1 - recipe.offset) / recipe.stride + 1 : 0;
  if (!HasSecret(recipe)) return fit;
  // What the division of the right half leaves over is nobody's.
  const std::uint32_t left_digits = recipe.length / 2;
  const Uint128 left = PowerUpTo(kNumberEnd, alphabet.size(), left_digits);
  const Uint128 right =
      PowerUpTo(kNumberEnd, alphabet.size(), recipe.length - left_digits) / recipe.stride;
  const Uint128 last = (kNumberEnd - 1 - recipe.offset) / recipe.stride + 1;
  return static_cast<std::uint64_t>(std::min(left * right, last));
}

Status CheckLength(const Recipe& recipe, const Alphabet& alphabet) {
  if (recipe.kind == Kind::kShuffled) return CheckShuffledLength(recipe.length, alphabet);
  if (HasSecret(recipe)) return CheckShuffledTicket(recipe, alphabet);
  if (recipe.length <= kLengthMax) return Status::Ok();
  return Refuse(fmt::format("length: {} is not in 0 to {}", recipe.length, kLengthMax));
}

}  // namespace

bool HasSecret(const Recipe& recipe) {
  return recipe.kind == Kind::kShuffled ||
         (recipe.kind == Kind::kTicket && recipe.counter == Kind::kShuffled);
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

struct Codec::Parts {
  Alphabet alphabet;
  Blocklist blocklist;
  std::uint64_t end = 0;
};

Result<Codec::Parts> Codec::Examine(const Recipe& recipe) {
  const bool snowflake = recipe.kind == Kind::kSnowflake;
  const bool ticket = recipe.kind == Kind::kTicket;
  if (recipe.kind != Kind::kSequence && recipe.kind != Kind::kShuffled && !ticket && !snowflake) {
    return Refuse("kind: its keys are not numbers");
  }
  if (ticket) {
    if (Status status = CheckTicket(recipe); !status.ok()) return status;
  }
  Result<Alphabet> alphabet = Alphabet::Parse(recipe.alphabet);
  if (!alphabet.ok()) return alphabet.status();
  if (Status status = CheckLength(recipe, *alphabet); !status.ok()) return status;
  if (Status status = CheckPrefix(recipe.prefix); !status.ok()) return status;
  if (recipe.check != CheckSymbol::kNone) {
    if (Status status = CheckSymbolAllowed(*alphabet); !status.ok()) return status;
  }
  std::uint64_t end =
      recipe.length == 0 ? kNumberEnd : PowerUpTo(kNumberEnd, alphabet->size(), recipe.length);
  if (snowflake) {
    if (Status status = CheckSnowflakeLayout(recipe.layout); !status.ok()) return status;
    // The last id of 63 bits is one more than a number can be; nobody will miss it.
    const std::uint64_t ids = std::min(SnowflakeMaxId(recipe.layout), kNumberEnd - 1) + 1;
    if (end < ids) {
      return Refuse(fmt::format(
          "length: {} symbols do not hold ids of {} bits; use 0 for as many "
          "as are needed",
          recipe.length,
          recipe.layout.time_bits + recipe.layout.worker_bits + recipe.layout.sequence_bits));
    }
    end = ids;
  }
  if (ticket) {
    end = TicketEnd(recipe, *alphabet, end);
    if (end == 0) {
      return Refuse(fmt::format("offset: {} does not fit {} symbols; use a longer length, or 0",
                                recipe.offset, recipe.length));
    }
  }
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

Result<std::uint64_t> Codec::EndOf(const Recipe& recipe) {
  const Result<Parts> parts = Examine(recipe);
  if (!parts.ok()) return parts.status();
  return parts->end;
}

Result<Codec> Codec::Make(const Recipe& recipe, std::span<const std::uint8_t> secret,
                          AesPath path) {
  Result<Parts> parts = Examine(recipe);
  if (!parts.ok()) return parts.status();
  const std::size_t secret_size = HasSecret(recipe) ? kSecretSize : 0;
  if (secret.size() != secret_size) {
    return Refuse(fmt::format("secret: {} bytes, a keyspace of kind {} has {}", secret.size(),
                              KindName(recipe.kind), secret_size));
  }
  std::optional<Ff1> ff1;
  if (HasSecret(recipe)) {
    Result<Ff1> made = Ff1::Make({.radix = parts->alphabet.size(),
                                  .length = recipe.length,
                                  .key = secret,
                                  .tweak = {},
                                  .path = path,
                                  .right_parts = recipe.kind == Kind::kTicket ? recipe.stride : 1});
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
  if (recipe.kind == Kind::kTicket) {
    stride_ = recipe.stride;
    offset_ = recipe.offset;
  }
}

Written Codec::Encode(std::uint64_t first, std::uint32_t count, std::string_view after,
                      char* out) const {
  // A number past the end would wrap into a key that belongs to another one.
  KEYMILL_CHECK(first >= begin_ && first <= end_ && count <= end_ - first);
  return ff1_ ? EncodeShuffled(first, count, after, out)
              : EncodeSequence(NumberOf(first), count, after, out);
}

Written Codec::EncodeSequence(std::uint64_t first, std::uint32_t count, std::string_view after,
                              char* out) const {
  if (stride_ > 1) return EncodeStriding(first, count, after, out);
  const bool plain = !check_ && blocklist_.empty();
  if (plain && count >= kCountingMin) return EncodeCounting(first, count, after, out);
  return EncodeStepping(first, count, after, out);
}

Written Codec::EncodeStepping(std::uint64_t first, std::uint32_t count, std::string_view after,
                              char* out) const {
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

Written Codec::EncodeCounting(std::uint64_t first, std::uint32_t count, std::string_view after,
                              char* out) const {
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

Written Codec::EncodeStriding(std::uint64_t first, std::uint32_t count, std::string_view after,
                              char* out) const {
  Written written;
  const bool plain = !check_ && blocklist_.empty();
  const Digits::Writer digits = digits_.writer();
  const std::uint64_t radix = alphabet_.size();
  std::uint32_t length = std::max(length_, 1U);
  // The first number with more digits than that; none where the length is fixed.
  std::uint64_t beyond = length_ == 0 ? radix : kNumberEnd;
  std::uint64_t number = first;
  for (std::uint32_t i = 0; i < count; ++i, number += stride_) {
    for (; number >= beyond; ++length) {
      beyond = beyond > kNumberEnd / radix ? kNumberEnd : beyond * radix;
    }
    char* const key = out + written.bytes;
    std::memcpy(key, prefix_.data(), prefix_.size());
    digits.Write(number, length, key + prefix_.size());
    const std::size_t size = prefix_.size() + length;
    if (plain) {
      after.copy(key + size, after.size());
      written.bytes += size + after.size();
      ++written.keys;
    } else {
      Append(key, size, after, written);
    }
  }
  return written;
}

Written Codec::EncodeShuffled(std::uint64_t first, std::uint32_t count, std::string_view after,
                              char* out) const {
  Written written;
  const bool plain = !check_ && blocklist_.empty();
  const std::uint64_t right_size = ff1_->right_size();
  const std::uint32_t left_digits = length_ / 2;
  // Keys of a ticket have its residue in their right half, whatever the secret is: that is how
  // those of another one, with another secret, cannot be the same.
  const std::uint64_t stride = stride_;
  const std::uint64_t residue = stride_ > 1 ? offset_ - 1 : 0;
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
      digits.Write(halves.right * stride + residue, length_ - left_digits, body + left_digits);
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
  Result<std::uint64_t> number = ff1_ ? Unshuffle(body) : IndexOf(Value(body));
  if (!number.ok()) return number;
  if (*number < begin_ || *number >= end_) {
    return Refuse("key: stands for a number outside this keyspace");
  }
  if (blocklist_.Matches(key)) return Refuse("key: spells a blocked word");
  return number;
}

bool Codec::HasForm(std::string_view key) const {
  if (!key.starts_with(prefix_)) return false;
  std::string_view body = key.substr(prefix_.size());
  if (!CheckText(body).ok()) return false;
  if (check_) body.remove_suffix(1);
  // Which texts a shuffled counter passes over, where there are more than numbers, is up to the
  // secret.
  return (ff1_ || Value(body) < kNumberEnd) && !blocklist_.Matches(key);
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

Status Codec::OtherOffset(std::uint64_t offset) const {
  return Refuse(fmt::format("key: is of offset {}, and this keyspace has offset {} of {}", offset,
                            offset_, stride_));
}

Result<std::uint64_t> Codec::IndexOf(std::uint64_t number) const {
  if (number >= kNumberEnd || number < offset_) return kNumberEnd;
  const std::uint64_t rest = (number - offset_) % stride_;
  if (rest != 0) return OtherOffset((number - 1) % stride_ + 1);
  return (number - offset_) / stride_;
}

Result<std::uint64_t> Codec::Unshuffle(std::string_view body) const {
  const std::uint32_t left_digits = length_ / 2;
  Ff1::Halves halves = {Value(body.substr(0, left_digits)), Value(body.substr(left_digits))};
  if (stride_ > 1) {
    if (halves.right % stride_ != offset_ - 1) return OtherOffset(halves.right % stride_ + 1);
    halves.right /= stride_;
    if (halves.right >= ff1_->right_size()) return kNumberEnd;
  }
  ff1_->Decrypt({&halves, 1});
  // The alphabet's domain may be far larger than the numbers that we use of it.
  const Uint128 number = static_cast<Uint128>(halves.left) * ff1_->right_size() + halves.right;
  return number < kNumberEnd ? static_cast<std::uint64_t>(number) : kNumberEnd;
}

}  // namespace keymill::keys
