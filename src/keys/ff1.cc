// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The standard computes a CBC-MAC over P and Q in each of ten rounds. Halves of at most
// 63 bits leave the round number and the half in Q's last block, so everything before it is
// computed once, and a round costs one AES block. Names of values follow the standard.

#include "keys/ff1.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "keys/digits.h"
#include "keys/ff1_kernels.h"
#include "keys/uint128.h"

namespace keymill::keys {
namespace {

using Block = AesEncryptor::Block;

constexpr std::size_t kRounds = 10;
constexpr std::size_t kGroup =
    16;  // Strings computed side by side: two turns of the AES, which then overlap.
constexpr std::uint32_t kRadixMin = 2;
constexpr std::uint32_t kRadixMax = 256;
constexpr std::size_t kTweakSizeMax = 64;
constexpr std::uint64_t kHalfEnd = std::uint64_t{1} << 63;

// A block as two big-endian numbers.
struct Words {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

std::uint64_t FromBigEndian(std::uint64_t value) {
  return std::endian::native == std::endian::big ? value : __builtin_bswap64(value);
}

Words ToWords(const Block& block) {
  Words words;
  std::memcpy(&words.high, block.bytes.data(), 8);
  std::memcpy(&words.low, block.bytes.data() + 8, 8);
  return {FromBigEndian(words.high), FromBigEndian(words.low)};
}

Block ToBlock(Words words) {
  // Stored whole: the AES loads it whole, and would have to wait for two halves.
  using Pair = std::uint64_t __attribute__((vector_size(16)));
  const Pair pair = {FromBigEndian(words.high), FromBigEndian(words.low)};
  Block block;
  std::memcpy(block.bytes.data(), &pair, sizeof pair);
  return block;
}

// radix^exponent, or kHalfEnd when it is not below that.
std::uint64_t Power(std::uint32_t radix, std::uint32_t exponent) {
  std::uint64_t power = 1;
  for (std::uint32_t i = 0; i < exponent; ++i) {
    if (power > (kHalfEnd - 1) / radix) return kHalfEnd;
    power *= radix;
  }
  return power;
}

// The standard's b: bytes that hold any value below `size`. Bits are counted exactly; a
// logarithm would be off by one near powers of two.
std::size_t BytesFor(std::uint64_t size) {
  return (static_cast<std::size_t>(std::bit_width(size - 1)) + 7) / 8;
}

Block MakeP(const Ff1::Options& options) {
  const std::uint32_t n = options.length;
  const auto t = static_cast<std::uint32_t>(options.tweak.size());
  Words p;
  p.high = 0x010201ULL << 40 | std::uint64_t{options.radix} << 16 | 10ULL << 8 | (n / 2) % 256;
  p.low = std::uint64_t{n} << 32 | t;
  return ToBlock(p);
}

Status CheckOptions(const Ff1::Options& options) {
  if (options.radix < kRadixMin || options.radix > kRadixMax) {
    return {Code::kInvalidArgument,
            fmt::format("FF1 radix: {} is not in {} to {}", options.radix, kRadixMin, kRadixMax)};
  }
  if (options.length < 2 || Power(options.radix, options.length - options.length / 2) >= kHalfEnd) {
    return {Code::kInvalidArgument,
            fmt::format("FF1 length: {} digits of radix {} are fewer than 2 or too many for "
                        "halves of 63 bits",
                        options.length, options.radix)};
  }
  const std::uint64_t right = Power(options.radix, options.length - options.length / 2);
  if (options.right_parts < 1 || options.right_parts > right / 2) {
    return {Code::kInvalidArgument, fmt::format("FF1 parts of the right half: {} is not in 1 to {}",
                                                options.right_parts, right / 2)};
  }
  if (options.tweak.size() > kTweakSizeMax) {
    return {Code::kInvalidArgument, fmt::format("FF1 tweak: {} bytes, at most {} are allowed",
                                                options.tweak.size(), kTweakSizeMax)};
  }
  return Status::Ok();
}

}  // namespace

struct Ff1::Impl {
  explicit Impl(AesEncryptor encryptor) : aes(std::move(encryptor)) {}

  // The MAC over P and Q without the half: what a round's block is before NUM(B) is added.
  void Prepare(const Options& options);

  // The standard's y, mod `modulus`, from the first d bytes of R.
  template <bool kWide>
  static std::uint64_t Fold(const Block& r, const Divisor& modulus);

  template <bool kWide>
  void EncryptGroup(std::span<Halves> group) const;
  template <bool kWide>
  void DecryptGroup(std::span<Halves> group) const;

  AesEncryptor aes;
  // The sizes of the halves. A real division would take more time than the AES.
  Divisor left{2};    // radix^u
  Divisor right{2};   // radix^v / right_parts
  bool wide = false;  // d is 12 bytes, not 8: y does not fit 64 bits.
  std::array<Words, kRounds> before_half;
  Ff1Rounds rounds;  // The same for the kernels, where they can be used.
};

void Ff1::Impl::Prepare(const Options& options) {
  left = Divisor(Power(options.radix, options.length / 2));
  const std::uint64_t right_power = Power(options.radix, options.length - options.length / 2);
  // A Feistel network permutes halves of any two sizes, as long as each round adds modulo the size
  // of the half that it changes.
  right = Divisor(right_power / options.right_parts);
  const std::size_t b = BytesFor(right_power);  // Holds either half.
  wide = b > 4;                                 // d = 4 * ceil(b / 4) + 4

  // Q: the tweak, zeros up to a whole number of blocks, the round number, b bytes of half.
  const std::size_t blocks = (options.tweak.size() + b + 1 + 15) / 16;
  std::vector<std::uint8_t> q(blocks * 16);
  std::copy(options.tweak.begin(), options.tweak.end(), q.begin());

  Block state = MakeP(options);
  aes.EncryptBlocks({&state, 1});
  for (std::size_t i = 0; i < blocks; ++i) {
    for (std::size_t j = 0; j < 16; ++j) state.bytes[j] ^= q[i * 16 + j];
    if (i + 1 < blocks) aes.EncryptBlocks({&state, 1});
  }
  for (std::size_t round = 0; round < kRounds; ++round) {
    Block last = state;
    last.bytes[15 - b] ^= static_cast<std::uint8_t>(round);
    before_half[round] = ToWords(last);
    rounds.before_half[round] = last;
  }
  rounds.left = left;
  rounds.right = right;
  if (!wide) rounds.aes_keys = aes.round_keys();
}

template <bool kWide>
std::uint64_t Ff1::Impl::Fold(const Block& r, const Divisor& modulus) {
  const Words words = ToWords(r);
  if constexpr (kWide) {
    return static_cast<std::uint64_t>((static_cast<Uint128>(words.high) << 32 | words.low >> 32) %
                                      modulus.value());
  } else {
    return modulus.Divide(words.high).rest;
  }
}

template <bool kWide>
void Ff1::Impl::EncryptGroup(std::span<Halves> group) const {
  std::array<Block, kGroup> blocks;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const Divisor modulus = round % 2 == 0 ? left : right;
    const Words before = before_half[round];
    for (std::size_t i = 0; i < group.size(); ++i) {
      blocks[i] = ToBlock({before.high, before.low ^ group[i].right});
    }
    aes.EncryptBlocks(std::span(blocks).first(group.size()));
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::uint64_t sum = group[i].left + Fold<kWide>(blocks[i], modulus);
      group[i] = {group[i].right, sum >= modulus.value() ? sum - modulus.value() : sum};
    }
  }
}

template <bool kWide>
void Ff1::Impl::DecryptGroup(std::span<Halves> group) const {
  std::array<Block, kGroup> blocks;
  for (std::size_t round = kRounds; round-- > 0;) {
    const Divisor modulus = round % 2 == 0 ? left : right;
    const Words before = before_half[round];
    for (std::size_t i = 0; i < group.size(); ++i) {
      blocks[i] = ToBlock({before.high, before.low ^ group[i].left});
    }
    aes.EncryptBlocks(std::span(blocks).first(group.size()));
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::uint64_t y = Fold<kWide>(blocks[i], modulus);
      const std::uint64_t c = group[i].right;
      group[i] = {c >= y ? c - y : c + (modulus.value() - y), group[i].left};
    }
  }
}

Result<Ff1> Ff1::Make(const Options& options) {
  if (Status status = CheckOptions(options); !status.ok()) return status;
  Result<AesEncryptor> aes = AesEncryptor::Make(options.key, options.path);
  if (!aes.ok()) return aes.status();
  auto impl = std::make_unique<Impl>(*std::move(aes));
  impl->Prepare(options);
  return Ff1(std::move(impl));
}

Ff1::Ff1(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ff1::~Ff1() = default;
Ff1::Ff1(Ff1&&) noexcept = default;
Ff1& Ff1::operator=(Ff1&&) noexcept = default;

void Ff1::Encrypt(std::span<Halves> strings) const {
  if (!impl_->rounds.aes_keys.empty()) {
    strings = strings.subspan(EncryptGroups(impl_->aes.lanes(), impl_->rounds, strings));
  }
  while (!strings.empty()) {
    const std::span<Halves> group = strings.first(std::min(kGroup, strings.size()));
    assert(group[0].left < left_size() && group[0].right < right_size());
    impl_->wide ? impl_->EncryptGroup<true>(group) : impl_->EncryptGroup<false>(group);
    strings = strings.subspan(group.size());
  }
}

void Ff1::Decrypt(std::span<Halves> strings) const {
  while (!strings.empty()) {
    const std::span<Halves> group = strings.first(std::min(kGroup, strings.size()));
    assert(group[0].left < left_size() && group[0].right < right_size());
    impl_->wide ? impl_->DecryptGroup<true>(group) : impl_->DecryptGroup<false>(group);
    strings = strings.subspan(group.size());
  }
}

std::uint64_t Ff1::left_size() const { return impl_->left.value(); }
std::uint64_t Ff1::right_size() const { return impl_->right.value(); }

}  // namespace keymill::keys
