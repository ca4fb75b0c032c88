// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// How often each latency occurred, in a fixed amount of memory.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace keymill::load {

// Log-linear, like HdrHistogram: each power of two is divided into 128 equal buckets, so that
// a percentile is less than 1 % away from the true one, whatever its size. Values up to 255
// are exact; those above kValueMax count as kValueMax (18 minutes, in nanoseconds).
//
// Not safe for concurrent use. Record allocates nothing.
class Histogram {
 public:
  static constexpr std::uint64_t kValueMax = (std::uint64_t{1} << 40) - 1;

  void Record(std::uint64_t value) {
    if (value > kValueMax) value = kValueMax;
    ++buckets_[IndexOf(value)];
    ++count_;
    sum_ += value;
    if (value > max_) max_ = value;
  }
  void Add(const Histogram& other);
  void Clear() { *this = Histogram(); }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }  // Exact.
  [[nodiscard]] double Mean() const;                        // Exact; 0 when empty.

  // The smallest value that at least `share` of all values do not exceed, rounded within its
  // bucket; never above max(). 0 when empty.
  // REQUIRES: 0 <= share <= 1
  [[nodiscard]] std::uint64_t Percentile(double share) const;

 private:
  static constexpr int kSubBits = 7;
  static constexpr std::size_t kSub = std::size_t{1} << kSubBits;
  static constexpr std::size_t kBuckets = (40 - kSubBits + 1) * kSub;

  static std::size_t IndexOf(std::uint64_t value) {
    const auto width = static_cast<int>(std::bit_width(value));
    if (width <= kSubBits + 1) return value;
    const int shift = width - kSubBits - 1;
    return static_cast<std::size_t>(shift) * kSub + (value >> shift);
  }
  static std::uint64_t MiddleOf(std::size_t index);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace keymill::load
