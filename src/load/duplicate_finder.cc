// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys go into a table in memory. When it is full, they go to disk instead, parted by their
// hash, so that equal keys meet in the same part; then each part is treated as the whole
// was, with another hash. Keys that are equal take the room of one in the table, so a part
// that is too large has different keys in it, and parts again.

#include "load/duplicate_finder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/random.h"
#include "load/posix_file.h"

namespace keymill::load {
namespace {

// A level parts its keys by 256, so 8 levels part any input; more means a broken hash.
constexpr int kDepthMax = 8;

// Keys whose slots in the table are fetched while others are compared.
constexpr std::size_t kAtOnce = 16;

KeyHash RandomHash() {
  std::array<std::uint8_t, sizeof(std::uint64_t)> bytes{};
  RandomBytes(bytes);
  std::uint64_t seed = 0;
  std::memcpy(&seed, bytes.data(), sizeof seed);
  return KeyHash(seed);
}

// The top bits: the table takes its slots from the low ones.
std::size_t PartOf(std::uint64_t hashed) {
  static_assert(SpillFile::kParts == 256);
  return hashed >> 56;
}

}  // namespace

DuplicateFinder::Level::Level() : hash(RandomHash()) {}

DuplicateFinder::DuplicateFinder(const DuplicateFinderOptions& options)
    : options_(options),
      table_(std::clamp(options.memory_max, KeyTable::kMemoryMin, KeyTable::kMemoryMax)) {
  table_.Reset(whole_.hash, 0);
}

Status DuplicateFinder::Add(std::string_view key, std::uint64_t place) {
  return Add({&key, 1}, place);
}

Status DuplicateFinder::Add(std::span<const std::string_view> keys, std::uint64_t place) {
  std::array<std::uint64_t, kAtOnce> hashes{};
  while (!keys.empty()) {
    const std::size_t count = std::min(keys.size(), kAtOnce);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = whole_.hash(keys[i]);
      if (!whole_.spill) table_.Prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t known = table_.size();
      const Sightings sightings{.first = place++, .second = 0, .count = 1};
      if (Status status = AddTo(whole_, keys[i], hashes[i], sightings); !status.ok()) return status;
      ++keys_;
      if (!whole_.spill && table_.size() == known) ++repeats_;
    }
    keys = keys.subspan(count);
  }
  return Status::Ok();
}

Status DuplicateFinder::Finish() {
  if (Status status = FinishLevel(whole_); !status.ok()) return status;
  std::sort(found_.begin(), found_.end());
  repeats_ = keys_ - distinct_;
  return Status::Ok();
}

Status DuplicateFinder::AddTo(Level& level, std::string_view key, std::uint64_t hashed,
                              const Sightings& sightings) {
  if (!level.spill) {
    if (table_.Add(key, hashed, sightings)) return Status::Ok();
    if (Status status = Spill(level); !status.ok()) return status;
  }
  return level.spill->Append(PartOf(hashed), key, sightings);
}

Status DuplicateFinder::Spill(Level& level) {
  if (level.depth == kDepthMax) {
    return {Code::kInternal, "find duplicates: keys could not be parted by their hash"};
  }
  auto file = PosixFile::CreateUnnamed(options_.temp_dir);
  if (!file.ok()) return file.status();
  level.spill.emplace(std::move(*file));
  Status status;
  table_.ForEach([&](std::string_view key, const Sightings& sightings) {
    if (status.ok()) status = level.spill->Append(PartOf(level.hash(key)), key, sightings);
  });
  return status;
}

Status DuplicateFinder::FinishLevel(Level& level) {
  if (!level.spill) {
    Collect();
    return Status::Ok();
  }
  if (Status status = level.spill->Seal(); !status.ok()) return status;
  for (std::size_t part = 0; part < SpillFile::kParts; ++part) {
    if (level.spill->records(part) == 0) continue;
    if (Status status = CheckPart(level, part); !status.ok()) return status;
  }
  return Status::Ok();
}

Status DuplicateFinder::CheckPart(Level& above, std::size_t part) {
  Level level;
  level.depth = above.depth + 1;
  table_.Reset(level.hash, above.spill->records(part));
  SpillReader reader(*above.spill, part);
  while (reader.Next()) {
    Status status = AddTo(level, reader.key(), level.hash(reader.key()), reader.sightings());
    if (!status.ok()) return status;
  }
  if (!reader.status().ok()) return reader.status();
  return FinishLevel(level);
}

void DuplicateFinder::Collect() {
  distinct_ += table_.size();
  duplicate_keys_ += table_.repeated();
  table_.ForEachRepeated([&](std::string_view key, const Sightings& sightings) {
    if (found_.size() == options_.report_max) {
      if (found_.empty() || found_.front().sightings.second < sightings.second) return;
      std::pop_heap(found_.begin(), found_.end());
      found_.pop_back();
    }
    found_.push_back({std::string(key), sightings});
    std::push_heap(found_.begin(), found_.end());
  });
}

}  // namespace keymill::load
