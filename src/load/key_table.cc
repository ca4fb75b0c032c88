// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/key_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace keymill::load {
namespace {

constexpr std::size_t kSlotsMin = 1024;

std::size_t SlotsFor(std::uint64_t keys) {
  return std::bit_ceil(std::max<std::size_t>(kSlotsMin, keys + keys / 3 + 1));
}

}  // namespace

KeyTable::KeyTable(std::size_t memory_max)
    : memory_max_(memory_max),
      arena_(std::make_unique_for_overwrite<char[]>(memory_max)),
      hash_(0),
      slots_(kSlotsMin) {
  KEYMILL_CHECK(memory_max >= kMemoryMin && memory_max <= kMemoryMax);
}

void KeyTable::Reset(KeyHash hash, std::uint64_t expected) {
  hash_ = hash;
  arena_used_ = 0;
  size_ = 0;
  repeats_.clear();
  const std::size_t affordable = std::bit_floor(memory_max_ / 4 / sizeof(std::uint64_t));
  slots_.assign(std::min(affordable, SlotsFor(std::min<std::uint64_t>(expected, memory_max_))), 0);
}

bool KeyTable::Add(std::string_view key, std::uint64_t hashed, const Sightings& sightings) {
  const std::size_t mask = slots_.size() - 1;
  const std::uint64_t tag = hashed & ~kOffsetMask;
  for (std::size_t at = hashed & mask; slots_[at] != 0; at = (at + 1) & mask) {
    if ((slots_[at] & ~kOffsetMask) != tag) continue;
    const std::size_t offset = (slots_[at] & kOffsetMask) - 1;
    if (EntryAt(offset).key == key) return Repeated(offset, sightings);
  }
  return Append(key, hashed, sightings);
}

bool KeyTable::Repeated(std::size_t offset, const Sightings& sightings) {
  const Entry entry = EntryAt(offset);
  if ((entry.place & kRepeated) == 0) {
    if (MemoryUsed() + sizeof(Repeat) > memory_max_) return false;
    const std::uint64_t place = kRepeated + repeats_.size();
    repeats_.push_back({offset, {.first = entry.place, .second = sightings.first, .count = 1}});
    std::memcpy(arena_.get() + offset, &place, sizeof place);
    repeats_.back().sightings.count += sightings.count;
    return true;
  }
  Sightings& known = repeats_[entry.place - kRepeated].sightings;
  known.second = std::min(known.second, sightings.first);
  known.count += sightings.count;
  return true;
}

bool KeyTable::Append(std::string_view key, std::uint64_t hashed, const Sightings& sightings) {
  const bool repeated = sightings.count > 1;
  const std::size_t needed = kEntryHead + key.size() + (repeated ? sizeof(Repeat) : 0);
  if (MemoryUsed() + needed > memory_max_) return false;
  if (size_ + 1 > slots_.size() / 4 * 3 && !Grow()) return false;
  const std::size_t offset = arena_used_;
  const std::uint64_t place = repeated ? kRepeated + repeats_.size() : sightings.first;
  const auto length = static_cast<std::uint16_t>(key.size());
  if (repeated) repeats_.push_back({offset, sightings});
  char* const entry = arena_.get() + offset;
  std::memcpy(entry, &place, sizeof place);
  std::memcpy(entry + sizeof place, &length, sizeof length);
  std::memcpy(entry + kEntryHead, key.data(), key.size());
  arena_used_ += kEntryHead + key.size();
  ++size_;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hashed & mask;
  while (slots_[at] != 0) at = (at + 1) & mask;
  slots_[at] = (hashed & ~kOffsetMask) | (offset + 1);
  return true;
}

bool KeyTable::Grow() {
  // The old slots go before the new ones are filled, but not before they are there.
  const std::size_t count = slots_.size() * 2;
  if (MemoryUsed() + count * sizeof(std::uint64_t) > memory_max_) return false;
  std::vector<std::uint64_t> grown(count);
  slots_.swap(grown);
  const std::size_t mask = count - 1;
  for (std::size_t offset = 0; offset < arena_used_;) {
    const Entry entry = EntryAt(offset);
    const std::uint64_t hashed = hash_(entry.key);
    std::size_t at = hashed & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = (hashed & ~kOffsetMask) | (offset + 1);
    offset += kEntryHead + entry.key.size();
  }
  return true;
}

KeyTable::Entry KeyTable::EntryAt(std::size_t offset) const {
  const char* const at = arena_.get() + offset;
  std::uint64_t place = 0;
  std::uint16_t length = 0;
  std::memcpy(&place, at, sizeof place);
  std::memcpy(&length, at + sizeof place, sizeof length);
  return {place, {at + kEntryHead, length}};
}

Sightings KeyTable::SightingsOf(const Entry& entry) const {
  if ((entry.place & kRepeated) != 0) return repeats_[entry.place - kRepeated].sightings;
  return {.first = entry.place, .second = 0, .count = 1};
}

std::size_t KeyTable::MemoryUsed() const {
  return arena_used_ + slots_.size() * sizeof(std::uint64_t) + repeats_.size() * sizeof(Repeat);
}

}  // namespace keymill::load
