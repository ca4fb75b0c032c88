// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/reservoir.h"

#include <algorithm>

#include "base/check.h"

namespace keymill::mint {

Reservoir::Run Reservoir::Take(std::uint64_t count, std::uint64_t last) {
  std::uint64_t ticket = cursor_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t added = added_.load(std::memory_order_acquire);
    if (ticket >= added) return {};  // Empty, or sealed.
    Place place;
    if (!Locate(ticket, added, place)) {
      ticket = cursor_.load(std::memory_order_acquire);
      continue;
    }
    if (place.first > last) return {.beyond = true};
    std::uint64_t taken = std::min(count, place.end - ticket);
    if (last - place.first < taken) taken = last - place.first + 1;
    if (cursor_.compare_exchange_weak(ticket, ticket + taken, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      AdvanceHead(place.index);
      return {place.first, taken, ticket + taken};
    }
  }
}

Reservoir::Run Reservoir::TakeRun(std::uint64_t count, std::uint64_t last, std::uint64_t& passed) {
  std::uint64_t cursor = cursor_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t added = added_.load(std::memory_order_acquire);
    std::uint64_t ticket = cursor;
    Place place;
    const Search search = FindRun(count, added, ticket, place);
    if (search == Search::kNone) return {};
    if (search == Search::kStale) {
      cursor = cursor_.load(std::memory_order_acquire);
      continue;
    }
    if (place.first > last || last - place.first < count - 1) return {.beyond = true};
    const std::uint64_t from = cursor;
    // R1 holds for the segments between the two as well: none of them is behind the cursor.
    if (cursor_.compare_exchange_weak(cursor, ticket + count, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      AdvanceHead(place.index);
      passed = ticket - from;
      return {place.first, count, ticket + count};
    }
  }
}

bool Reservoir::HasRun(std::uint64_t count) const {
  for (;;) {
    std::uint64_t ticket = cursor_.load(std::memory_order_acquire);
    Place place;
    const Search search = FindRun(count, added_.load(std::memory_order_acquire), ticket, place);
    if (search != Search::kStale) return search == Search::kFound;
  }
}

Reservoir::Search Reservoir::FindRun(std::uint64_t count, std::uint64_t added,
                                     std::uint64_t& ticket, Place& place) const {
  while (ticket < added) {
    if (!Locate(ticket, added, place)) return Search::kStale;
    if (place.end - ticket >= count) return Search::kFound;
    ticket = place.end;
  }
  return Search::kNone;
}

bool Reservoir::Peek(std::uint64_t ticket, std::uint64_t count, std::uint64_t& first) const {
  const std::uint64_t added = added_.load(std::memory_order_acquire);
  Place place;
  if (ticket + count > added || !Locate(ticket, added, place)) return false;
  first = place.first;
  return place.end - ticket >= count;
}

bool Reservoir::Locate(std::uint64_t ticket, std::uint64_t added, Place& place) const {
  std::uint64_t index = head_.load(std::memory_order_acquire);
  const std::uint64_t segments = segments_.load(std::memory_order_acquire);
  std::uint64_t base = 0;
  std::uint64_t first = 0;
  if (!ReadSegment(index, base, first) || base > ticket) return false;
  while (index + 1 < segments) {
    std::uint64_t next_base = 0;
    std::uint64_t next_first = 0;
    if (!ReadSegment(index + 1, next_base, next_first)) return false;
    if (next_base > ticket) {
      place = {index, first + (ticket - base), std::min(next_base, added)};
      return true;
    }
    ++index;
    base = next_base;
    first = next_first;
  }
  place = {index, first + (ticket - base), added};
  return true;
}

bool Reservoir::ReadSegment(std::uint64_t index, std::uint64_t& base, std::uint64_t& first) const {
  const Segment& slot = ring_[index % kSegments];
  if (slot.index.load(std::memory_order_acquire) != index) return false;
  base = slot.base.load(std::memory_order_acquire);
  first = slot.first.load(std::memory_order_acquire);
  return slot.index.load(std::memory_order_acquire) == index;
}

void Reservoir::AdvanceHead(std::uint64_t index) {
  std::uint64_t head = head_.load(std::memory_order_relaxed);
  while (head < index && !head_.compare_exchange_weak(head, index, std::memory_order_release,
                                                      std::memory_order_relaxed)) {
  }
}

bool Reservoir::Add(std::uint64_t first, std::uint64_t count) {
  KEYMILL_CHECK(count > 0 && sealed_at_.load(std::memory_order_relaxed) == kSealed);
  const std::uint64_t added = added_.load(std::memory_order_relaxed);
  const std::uint64_t segments = segments_.load(std::memory_order_relaxed);
  if (segments == 0 || number_end_ != first) {
    // Slots before head_ hold segments that are spent.
    if (segments - head_.load(std::memory_order_acquire) >= kSegments) return false;
    Segment& slot = ring_[segments % kSegments];
    slot.index.store(kSealed, std::memory_order_relaxed);
    slot.base.store(added, std::memory_order_release);
    slot.first.store(first, std::memory_order_release);
    slot.index.store(segments, std::memory_order_release);
    segments_.store(segments + 1, std::memory_order_release);
  }
  number_end_ = first + count;
  added_.store(added + count, std::memory_order_release);
  return true;
}

std::vector<Reservoir::Run> Reservoir::Seal() {
  std::uint64_t ticket = cursor_.exchange(kSealed, std::memory_order_acq_rel);
  std::vector<Run> left;
  if (ticket == kSealed) return left;
  sealed_at_.store(ticket, std::memory_order_relaxed);
  const std::uint64_t added = added_.load(std::memory_order_acquire);
  while (ticket < added) {
    Place place;
    KEYMILL_CHECK(Locate(ticket, added, place));  // R1: nothing rewrites a live segment.
    left.push_back({place.first, place.end - ticket, place.end});
    ticket = place.end;
  }
  return left;
}

std::uint64_t Reservoir::taken() const {
  const std::uint64_t ticket = cursor_.load(std::memory_order_acquire);
  return ticket == kSealed ? sealed_at_.load(std::memory_order_relaxed) : ticket;
}

std::uint64_t Reservoir::ahead() const {
  // The cursor first: it never passes what was added when it was read.
  const std::uint64_t ticket = cursor_.load(std::memory_order_acquire);
  const std::uint64_t added = added_.load(std::memory_order_acquire);
  return ticket >= added ? 0 : added - ticket;
}

}  // namespace keymill::mint
