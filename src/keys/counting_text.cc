// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/counting_text.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace keymill::keys {
namespace {

// Sixteen bytes that are read, joined and written at once, wherever they lie.
using Vector = std::uint64_t __attribute__((vector_size(16)));
constexpr std::size_t kVectorsMax = kCountingTextMax / sizeof(Vector);
constexpr std::uint64_t kTurnMax = 256;

Vector Load(const char* bytes) {
  Vector vector;
  std::memcpy(&vector, bytes, sizeof vector);
  return vector;
}

void Store(Vector vector, char* bytes) { std::memcpy(bytes, &vector, sizeof vector); }

// A text cut into vectors. The last one ends where the text does, and so may overlap the one
// before: both then hold the same bytes. A text that is shorter than one vector has zeros behind
// it, which the next text overwrites.
template <std::size_t kVectors>
struct Cut {
  std::array<Vector, kVectors> part;

  static std::size_t Offset(std::size_t index, std::size_t size) {
    return std::min(index * sizeof(Vector), std::max(size, sizeof(Vector)) - sizeof(Vector));
  }
  // REQUIRES: kCountingTextMax bytes, zeros behind the text.
  void Take(const char* text, std::size_t size) {
    for (std::size_t i = 0; i < kVectors; ++i) part[i] = Load(text + Offset(i, size));
  }
};

template <std::size_t kVectors>
class Counter {
 public:
  Counter(const CountingText& text, const Digits& digits)
      : digits_(digits), size_(text.size()), prefix_size_(text.prefix.size()) {
    std::uint32_t wheels = 1;
    while (wheels < text.length && turn_ * digits.radix() <= kTurnMax) {
      turn_ *= digits.radix();
      ++wheels;
    }
    still_digits_ = text.length - wheels;
    // What moves is zero in the still part, and the other way round: joined by `or`.
    char* const wheel = bytes_.data() + prefix_size_ + still_digits_;
    text.after.copy(wheel + wheels, text.after.size());
    for (std::uint64_t i = 0; i < turn_; ++i) {
      digits.Write(i, wheels, wheel);
      moving_[i].Take(bytes_.data(), size_);
    }
    bytes_.fill(0);
    text.prefix.copy(bytes_.data(), prefix_size_);
  }

  void Write(std::uint64_t first, std::uint64_t count, char* out) {
    std::array<std::size_t, kVectors> offset;
    for (std::size_t i = 0; i < kVectors; ++i) offset[i] = Cut<kVectors>::Offset(i, size_);
    std::uint64_t head = first / turn_;
    std::uint64_t at = first % turn_;
    const std::size_t size = size_;
    while (count > 0) {
      digits_.Write(head++, still_digits_, bytes_.data() + prefix_size_);
      Cut<kVectors> still;
      still.Take(bytes_.data(), size);
      const std::uint64_t end = std::min(turn_, at + count);
      count -= end - at;
      // The very last text must not write behind itself.
      const std::uint64_t wide_end = count == 0 && size < sizeof(Vector) ? end - 1 : end;
      for (; at < wide_end; ++at, out += size) {
        for (std::size_t i = 0; i < kVectors; ++i) {
          Store(moving_[at].part[i] | still.part[i], out + offset[i]);
        }
      }
      if (at < end) {
        const Vector joined = moving_[at].part[0] | still.part[0];
        std::memcpy(out, &joined, size);
      }
      at = 0;
    }
  }

 private:
  const Digits& digits_;
  const std::size_t size_;
  const std::size_t prefix_size_;
  std::uint64_t turn_ = digits_.radix();
  std::uint32_t still_digits_ = 0;
  std::array<Cut<kVectors>, kTurnMax> moving_;
  std::array<char, kCountingTextMax> bytes_{};
};

}  // namespace

void WriteCounting(const CountingText& text, const Digits& digits, std::uint64_t first,
                   std::uint64_t count, char* out) {
  const std::size_t size = text.size();
  KEYMILL_CHECK(size >= kCountingTextMin && size <= kCountingTextMax && text.length >= 1);
  static_assert(kVectorsMax == 3);
  // The last text but one may write as far as the last one ends.
  static_assert(2 * kCountingTextMin >= sizeof(Vector));
  switch ((size + sizeof(Vector) - 1) / sizeof(Vector)) {
    case 1:
      return Counter<1>(text, digits).Write(first, count, out);
    case 2:
      return Counter<2>(text, digits).Write(first, count, out);
    default:
      return Counter<3>(text, digits).Write(first, count, out);
  }
}

}  // namespace keymill::keys
