// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys go into a table in memory. When it is full, they go to disk instead, parted by their
// hash, so that equal keys meet in the same part; then each part is treated as the whole
// was, with another hash. Keys that are equal take the room of one in the table, so a part
// that is too large has different keys in it, and parts again.

#include "load/verify.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "load/key_hash.h"
#include "load/key_lines.h"
#include "load/key_table.h"
#include "load/posix_file.h"
#include "load/spill_file.h"

namespace keymill::load {
namespace {

// A level parts its keys by 256, so 8 levels part any input; more means a broken hash.
constexpr int kDepthMax = 8;

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

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options)
      : options_(options),
        table_(std::clamp(options.memory_max, KeyTable::kMemoryMin, KeyTable::kMemoryMax)) {}

  Result<VerifyReport> Run();

 private:
  // One stream of keys: all of the input, or a part of a part of … it.
  struct Level {
    int depth = 0;
    KeyHash hash = RandomHash();
    std::optional<SpillFile> spill;  // From the moment when the table was full.
  };
  struct Found {
    std::string key;
    Sightings sightings;
    bool operator<(const Found& other) const { return sightings.second < other.sightings.second; }
  };

  Status ReadFile(Level& level, const std::string& name);
  Status Add(Level& level, std::string_view key, const Sightings& sightings);
  Status Spill(Level& level);
  Status Finish(Level& level);
  Status CheckPart(Level& above, std::size_t part);
  void Collect();
  [[nodiscard]] Duplicate Describe(const Found& found) const;
  void Locate(std::uint64_t place, std::string* file, std::uint64_t* line) const;

  const VerifyOptions& options_;
  KeyTable table_;
  VerifyReport report_;
  // Places count the lines of all files; files_end_[i] is the place of file i's last line.
  std::uint64_t place_ = 0;
  std::vector<std::uint64_t> files_end_;
  std::vector<Found> found_;  // A heap: the one that was seen again last is in front.
};

Result<VerifyReport> Verifier::Run() {
  Level whole;
  table_.Reset(whole.hash, 0);
  for (const std::string& name : options_.files) {
    if (Status status = ReadFile(whole, name); !status.ok()) return status;
    files_end_.push_back(place_);
  }
  if (Status status = Finish(whole); !status.ok()) return status;
  std::sort(found_.begin(), found_.end());
  for (const Found& found : found_) report_.first.push_back(Describe(found));
  return std::move(report_);
}

Status Verifier::ReadFile(Level& level, const std::string& name) {
  auto file = PosixFile::OpenForReading(name);
  if (!file.ok()) return file.status();
  KeyLines lines(std::move(*file), name, kVerifyKeySizeMax);
  while (lines.Next()) {
    ++place_;
    if (lines.line().empty()) continue;
    ++report_.keys;
    Status status = Add(level, lines.line(), {.first = place_, .second = 0, .count = 1});
    if (!status.ok()) return status;
  }
  return lines.status();
}

Status Verifier::Add(Level& level, std::string_view key, const Sightings& sightings) {
  const std::uint64_t hashed = level.hash(key);
  if (!level.spill) {
    if (table_.Add(key, hashed, sightings)) return Status::Ok();
    if (Status status = Spill(level); !status.ok()) return status;
  }
  return level.spill->Append(PartOf(hashed), key, sightings);
}

Status Verifier::Spill(Level& level) {
  if (level.depth == kDepthMax) {
    return {Code::kInternal, "verify: keys could not be parted by their hash"};
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

Status Verifier::Finish(Level& level) {
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

Status Verifier::CheckPart(Level& above, std::size_t part) {
  Level level;
  level.depth = above.depth + 1;
  table_.Reset(level.hash, above.spill->records(part));
  SpillReader reader(*above.spill, part);
  while (reader.Next()) {
    if (Status status = Add(level, reader.key(), reader.sightings()); !status.ok()) return status;
  }
  if (!reader.status().ok()) return reader.status();
  return Finish(level);
}

void Verifier::Collect() {
  report_.distinct += table_.size();
  report_.duplicate_keys += table_.repeated();
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

Duplicate Verifier::Describe(const Found& found) const {
  Duplicate duplicate;
  duplicate.key = found.key;
  duplicate.count = found.sightings.count;
  Locate(found.sightings.first, &duplicate.first_file, &duplicate.first_line);
  Locate(found.sightings.second, &duplicate.second_file, &duplicate.second_line);
  return duplicate;
}

void Verifier::Locate(std::uint64_t place, std::string* file, std::uint64_t* line) const {
  const auto holder = std::lower_bound(files_end_.begin(), files_end_.end(), place);
  const auto index = static_cast<std::size_t>(holder - files_end_.begin());
  *file = options_.files[index];
  *line = place - (index == 0 ? 0 : files_end_[index - 1]);
}

}  // namespace

Result<VerifyReport> Verify(const VerifyOptions& options) { return Verifier(options).Run(); }

}  // namespace keymill::load
