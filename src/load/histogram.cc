// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/histogram.h"

#include <algorithm>
#include <cmath>

namespace keymill::load {

void Histogram::Add(const Histogram& other) {
  if (other.count_ == 0) return;
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

double Histogram::Mean() const {
  return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::uint64_t Histogram::Percentile(double share) const {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  const std::uint64_t rank = std::clamp<std::uint64_t>(wanted, 1, count_);
  if (rank == count_) return max_;
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    passed += buckets_[i];
    if (passed >= rank) return std::min(MiddleOf(i), max_);
  }
  return max_;
}

std::uint64_t Histogram::MiddleOf(std::size_t index) {
  if (index < 2 * kSub) return index;
  const std::size_t shift = index / kSub - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(index - shift * kSub) << shift;
  return low + (std::uint64_t{1} << shift) / 2;
}

}  // namespace keymill::load
