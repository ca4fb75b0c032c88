// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Finds the keys that occur more than once in a stream that may be far larger than memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

#include "load/key_hash.h"
#include "load/key_table.h"
#include "load/spill_file.h"

namespace keymill::load {

struct DuplicateFinderOptions {
  // Where keys go that do not fit in memory: about three bytes more than the key takes
  // each. Empty means the system's directory for temporary files. The files there have no
  // name, so that they vanish with the process, however it ends.
  std::filesystem::path temp_dir;

  // Bytes for the keys that are being compared. More means fewer trips to the disk. Less
  // than 64 KiB is taken as 64 KiB; buffers of some 20 MiB come on top.
  std::size_t memory_max = std::size_t{256} << 20;

  // How many duplicates are kept as examples; all of them are counted.
  std::size_t report_max = 20;
};

// Keys are any bytes and are compared as bytes. What Finish() leaves is exact, whether the
// keys fitted in memory or not. Before it, repeats() is exact as long as all keys fit; from
// then on (spilled()) it stands still, a lower bound, because keys on disk are compared at
// the end only.
//
// Not safe for concurrent use.
class DuplicateFinder {
 public:
  explicit DuplicateFinder(const DuplicateFinderOptions& options);

  struct Found {
    std::string key;
    Sightings sightings;
    bool operator<(const Found& other) const { return sightings.second < other.sightings.second; }
  };

  // Adds a key that was seen at `place`.
  // Errors: kNotFound, kPermissionDenied, kUnavailable: temp_dir cannot be used or is full.
  // The message names it. Nothing more can be found then.
  // REQUIRES: places grow from call to call, from 1 on; the key has at most 2^15 bytes; not
  // finished.
  Status Add(std::string_view key, std::uint64_t place);

  // The same for several keys, the first of them at `place`, the others behind it; faster.
  Status Add(std::span<const std::string_view> keys, std::uint64_t place);

  // Compares what is on disk. Errors as with Add.
  Status Finish();

  [[nodiscard]] std::uint64_t keys() const { return keys_; }  // Added so far.
  [[nodiscard]] bool spilled() const { return whole_.spill.has_value(); }
  // Keys that had been seen before, every time counted.
  [[nodiscard]] std::uint64_t repeats() const { return repeats_; }

  // Different keys; those among them that were seen more than once; the first of these, in
  // the order in which they were seen again.
  // REQUIRES (all three): finished.
  [[nodiscard]] std::uint64_t distinct() const { return distinct_; }
  [[nodiscard]] std::uint64_t duplicate_keys() const { return duplicate_keys_; }
  [[nodiscard]] const std::vector<Found>& first() const { return found_; }

 private:
  // One stream of keys: all of the input, or a part of a part of … it.
  struct Level {
    Level();
    int depth = 0;
    KeyHash hash;
    std::optional<SpillFile> spill;  // From the moment when the table was full.
  };

  Status AddTo(Level& level, std::string_view key, std::uint64_t hashed,
               const Sightings& sightings);
  Status Spill(Level& level);
  Status FinishLevel(Level& level);
  Status CheckPart(Level& above, std::size_t part);
  void Collect();

  const DuplicateFinderOptions options_;
  KeyTable table_;
  Level whole_;
  std::uint64_t keys_ = 0;
  std::uint64_t repeats_ = 0;
  std::uint64_t distinct_ = 0;
  std::uint64_t duplicate_keys_ = 0;
  std::vector<Found> found_;  // Until the end a heap: the one seen again last is in front.
};

}  // namespace keymill::load
