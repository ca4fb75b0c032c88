// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The blocks that this instance holds for one keyspace, spent by many threads at once.
//
// Every number in the reservoir has a ticket; tickets count up for ever and are never used
// twice. A segment says from which ticket on which numbers follow. To take n numbers is to
// move one cursor over n tickets by a single compare-and-swap. Because a ticket never comes
// back, a swap that succeeds proves that what was read before it still held (R1): no lock,
// no reclamation, no ABA.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace keymill::mint {

class Reservoir {
 public:
  // Consecutive numbers. `ticket_end` is the cursor behind them.
  struct Run {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t ticket_end = 0;
    bool beyond = false;  // Of an empty one: there are numbers, but above what the caller takes.
  };
  static constexpr std::uint64_t kNoLast = ~std::uint64_t{0};

  Reservoir() = default;
  Reservoir(const Reservoir&) = delete;
  Reservoir& operator=(const Reservoir&) = delete;

  // Takes up to `count` consecutive numbers, none above `last`, in the order in which they were
  // added. An empty run means that there are none now. Safe for any number of threads; wait-free
  // but for the swap.
  Run Take(std::uint64_t count, std::uint64_t last = kNoLast);

  // Takes exactly `count` consecutive numbers, none above `last`, or nothing. Numbers before them
  // that are too few in a row are passed over: `passed` tells how many, and nobody gets them.
  Run TakeRun(std::uint64_t count, std::uint64_t last, std::uint64_t& passed);

  // Whether TakeRun would find so many in a row. For looking only.
  [[nodiscard]] bool HasRun(std::uint64_t count) const;

  // The number of `ticket` when that and the `count - 1` numbers behind it have consecutive
  // tickets that were not taken long ago; false otherwise. Takes nothing.
  bool Peek(std::uint64_t ticket, std::uint64_t count, std::uint64_t& first) const;

  // Adds [first, first + count) behind everything that is there. Returns false, and adds
  // nothing, when the reservoir holds too many separate runs already.
  // REQUIRES: one thread at a time, not after Seal.
  bool Add(std::uint64_t first, std::uint64_t count);

  // Ends the reservoir: no later Take gets anything. Returns what was left, in order.
  // REQUIRES: no concurrent Add. Works once; a second call returns nothing.
  std::vector<Run> Seal();

  // What is left, in order, without taking it. For looking only: it may be gone by now.
  [[nodiscard]] std::uint64_t ahead() const;

  // Tickets spent so far; its growth is the rate.
  [[nodiscard]] std::uint64_t taken() const;

  // Tickets added so far.
  [[nodiscard]] std::uint64_t added() const { return added_.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint64_t kSealed = ~std::uint64_t{0};
  static constexpr std::uint64_t kSegments = 256;  // A power of two.

  // Tickets from `base` on stand for numbers from `first` on. `index` tells which segment
  // the slot holds; it is cleared while the slot is being rewritten.
  struct Segment {
    std::atomic<std::uint64_t> index{kSealed};
    std::atomic<std::uint64_t> base{0};
    std::atomic<std::uint64_t> first{0};
  };

  struct Place {
    std::uint64_t index = 0;
    std::uint64_t first = 0;  // The number of the ticket that was looked up.
    std::uint64_t end = 0;    // The ticket behind this segment.
  };

  // Finds the segment of `ticket`. False when the ring moved on meanwhile: the caller's
  // cursor is stale then, and its swap would fail.
  bool Locate(std::uint64_t ticket, std::uint64_t added, Place& place) const;
  // The first ticket from `ticket` on that has `count` consecutive numbers: kFound. kStale as
  // above.
  enum class Search : std::uint8_t { kFound, kNone, kStale };
  Search FindRun(std::uint64_t count, std::uint64_t added, std::uint64_t& ticket,
                 Place& place) const;
  bool ReadSegment(std::uint64_t index, std::uint64_t& base, std::uint64_t& first) const;
  void AdvanceHead(std::uint64_t index);

  alignas(64) std::atomic<std::uint64_t> cursor_{0};  // The next ticket to hand out.
  std::atomic<std::uint64_t> head_{0};                // A segment at or before the cursor's.
  alignas(64) std::atomic<std::uint64_t> added_{0};   // The ticket behind the last one.
  std::atomic<std::uint64_t> segments_{0};            // How many segments were ever added.
  std::atomic<std::uint64_t> sealed_at_{kSealed};     // The cursor when it was sealed.
  std::uint64_t number_end_ = 0;                      // Behind the last number; Add only.
  std::array<Segment, kSegments> ring_;
};

}  // namespace keymill::mint
