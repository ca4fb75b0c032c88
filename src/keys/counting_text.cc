// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/counting_text.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace keymill::keys {
namespace {

using Word = std::uint64_t;
constexpr std::size_t kWordsMax = kCountingTextMax / sizeof(Word);
constexpr std::uint64_t kTurnMax = 256;

// A text cut into words. The last one ends where the text does, and so may overlap the one
// before: both then hold the same bytes.
template <std::size_t kWords>
struct Words {
  std::array<Word, kWords> word;

  static std::size_t Offset(std::size_t index, std::size_t size) {
    return std::min(index * sizeof(Word), size - sizeof(Word));
  }
  void Load(const char* text, std::size_t size) {
    for (std::size_t i = 0; i < kWords; ++i) {
      std::memcpy(&word[i], text + Offset(i, size), sizeof(Word));
    }
  }
};

template <std::size_t kWords>
void Write(const CountingText& text, const Digits& digits, std::uint64_t first, std::uint64_t count,
           char* out) {
  const std::size_t size = text.size();
  std::uint64_t turn = digits.radix();
  std::uint32_t wheels = 1;
  while (wheels < text.length && turn * digits.radix() <= kTurnMax) {
    turn *= digits.radix();
    ++wheels;
  }
  const std::uint32_t still_digits = text.length - wheels;

  // What moves is zero in the still part, and the other way round: joined by `or`.
  std::array<Words<kWords>, kTurnMax> moving;
  std::array<char, kCountingTextMax> bytes{};
  char* const wheel = bytes.data() + text.prefix.size() + still_digits;
  text.after.copy(wheel + wheels, text.after.size());
  for (std::uint64_t i = 0; i < turn; ++i) {
    digits.Write(i, wheels, wheel);
    moving[i].Load(bytes.data(), size);
  }
  bytes.fill(0);
  text.prefix.copy(bytes.data(), text.prefix.size());

  std::array<std::size_t, kWords> offset;
  for (std::size_t i = 0; i < kWords; ++i) offset[i] = Words<kWords>::Offset(i, size);
  std::uint64_t head = first / turn;
  std::uint64_t at = first % turn;
  while (count > 0) {
    digits.Write(head++, still_digits, bytes.data() + text.prefix.size());
    Words<kWords> still;
    still.Load(bytes.data(), size);
    const std::uint64_t end = std::min(turn, at + count);
    count -= end - at;
    for (; at < end; ++at, out += size) {
      for (std::size_t i = 0; i < kWords; ++i) {
        const Word joined = moving[at].word[i] | still.word[i];
        std::memcpy(out + offset[i], &joined, sizeof joined);
      }
    }
    at = 0;
  }
}

}  // namespace

void WriteCounting(const CountingText& text, const Digits& digits, std::uint64_t first,
                   std::uint64_t count, char* out) {
  const std::size_t size = text.size();
  KEYMILL_CHECK(size >= kCountingTextMin && size <= kCountingTextMax && text.length >= 1);
  static_assert(kWordsMax == 6);
  switch ((size + sizeof(Word) - 1) / sizeof(Word)) {
    case 1:
      return Write<1>(text, digits, first, count, out);
    case 2:
      return Write<2>(text, digits, first, count, out);
    case 3:
      return Write<3>(text, digits, first, count, out);
    case 4:
      return Write<4>(text, digits, first, count, out);
    case 5:
      return Write<5>(text, digits, first, count, out);
    default:
      return Write<6>(text, digits, first, count, out);
  }
}

}  // namespace keymill::keys
