// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The time of one worker id as this instance may use it: a window that is reserved in the store,
// and a place in it that only moves forward. What makes an id unique is the window, which nobody
// else has; the clock only says which part of it is due.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace keymill::mint {

// Ids of one worker, by position: ticks << sequence_bits | sequence.
struct WorkerRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // 0: none is due now.
};

// Take may be called by any number of threads at once, Extend and Close by one at a time.
class WorkerLine {
 public:
  // How many units of time an instance that is asked for all that it can make may lag behind the
  // clock: threads wake up late, and what they have missed is still theirs.
  static constexpr std::uint64_t kLagTicks = 10;

  // Whoever would fill a unit of time with so many calls is in haste.
  static constexpr std::uint64_t kHastyCalls = 16;

  WorkerLine(std::uint32_t worker, std::uint32_t sequence_bits)
      : worker_(worker), sequence_bits_(sequence_bits) {}

  [[nodiscard]] std::uint32_t worker() const { return worker_; }

  // Up to `count` ids that nobody else gets, with times up to `now`. They never go back: after a
  // clock that did, the unit of the last id is filled, and then there are none until the clock has
  // caught up.
  WorkerRun Take(std::uint64_t now, std::uint64_t count) {
    std::uint64_t place = place_.load(std::memory_order_acquire);
    for (;;) {
      const WorkerRun run = Due(place, now, count);
      if (run.count == 0) return run;
      // Acquire: what fails here has seen a window that was moved, and looks for its end anew.
      if (place_.compare_exchange_weak(place, run.first + run.count, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
        return run;
      }
    }
  }

  // Whether Take would give some.
  [[nodiscard]] bool HasSome(std::uint64_t now) const {
    return Due(place_.load(std::memory_order_acquire), now, 1).count > 0;
  }

  // The window is [.., end) from now on. `first` is where the new part begins; what lies between
  // the old end and there was never ours.
  // REQUIRES: end() <= first < end
  void Extend(std::uint64_t first, std::uint64_t end) {
    // The place first: whoever sees the new end must not find a place below the new part.
    if (first != end_.load(std::memory_order_relaxed)) {
      const std::uint64_t lowest = first << sequence_bits_;
      std::uint64_t place = place_.load(std::memory_order_relaxed);
      while (place < lowest &&
             !place_.compare_exchange_weak(place, lowest, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
      }
    }
    end_.store(end, std::memory_order_release);
  }

  // Nothing is taken any more. Returns the first unit of time of which no id was taken.
  std::uint64_t Close() {
    end_.store(0, std::memory_order_release);
    // Whoever is in the middle of Take still has the old end, but not the old place.
    const std::uint64_t place = place_.exchange(kClosed, std::memory_order_acq_rel);
    if (place == kClosed) return closed_at_;
    const std::uint64_t whole = place >> sequence_bits_;
    closed_at_ = (whole << sequence_bits_) == place ? whole : whole + 1;
    return closed_at_;
  }

  // The first unit of time behind the window; 0 when there is none.
  [[nodiscard]] std::uint64_t end() const { return end_.load(std::memory_order_acquire); }

  // The unit of time of the next id, as it is now.
  [[nodiscard]] std::uint64_t ticks() const {
    return place_.load(std::memory_order_acquire) >> sequence_bits_;
  }

 private:
  static constexpr std::uint64_t kClosed = ~std::uint64_t{0};

  [[nodiscard]] WorkerRun Due(std::uint64_t place, std::uint64_t now, std::uint64_t count) const {
    const std::uint64_t size = std::uint64_t{1} << sequence_bits_;
    const bool begun = (place & (size - 1)) != 0;
    const std::uint64_t present = now << sequence_bits_;
    std::uint64_t first = place;
    if (place < present) {
      // Where a unit was filled to its last id, or is to be filled by a few calls like this one,
      // somebody wants all that there are.
      const bool hasty = !begun || count >= size / kHastyCalls;
      const bool behind = hasty && place > 0 && present - place <= kLagTicks * size;
      if (!behind) first = present;
    }
    std::uint64_t due = present + size;
    if (begun) due = std::max(due, (place | (size - 1)) + 1);
    const std::uint64_t end = std::min(due, end_.load(std::memory_order_acquire) << sequence_bits_);
    if (first >= end) return {};
    return {first, std::min(count, end - first)};
  }

  const std::uint32_t worker_;
  const std::uint32_t sequence_bits_;
  std::uint64_t closed_at_ = 0;
  alignas(64) std::atomic<std::uint64_t> place_{0};
  std::atomic<std::uint64_t> end_{0};
};

}  // namespace keymill::mint
