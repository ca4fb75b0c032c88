// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys parted by their hash, on disk. All parts share one file, each as a list of pieces,
// so that it takes one descriptor and is written from front to back.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "keymill/status.h"

#include "load/key_table.h"
#include "load/posix_file.h"

namespace keymill::load {

// Written first, then sealed, then read part by part. Not safe for concurrent use.
class SpillFile {
 public:
  static constexpr std::size_t kParts = 256;
  static constexpr std::size_t kPieceSizeMax = std::size_t{1} << 16;

  explicit SpillFile(PosixFile file);

  // REQUIRES: part < kParts; the key fits in half a piece; sightings.first grows from call
  // to call; not sealed.
  Status Append(std::size_t part, std::string_view key, const Sightings& sightings);

  // Writes out what is still in memory and gives the memory back.
  Status Seal();

  // The number of records of a part: at least the number of its different keys.
  [[nodiscard]] std::uint64_t records(std::size_t part) const { return parts_[part].records; }

 private:
  friend class SpillReader;

  struct Piece {
    std::uint64_t offset;
    std::size_t size;
  };
  struct Part {
    std::vector<Piece> pieces;
    std::uint64_t records = 0;
    std::uint64_t last_first = 0;  // Sightings::first of the last record; the next is a step.
    std::size_t buffered = 0;
  };

  char* BufferOf(std::size_t part) { return buffers_.get() + part * kPieceSizeMax; }
  Status Flush(std::size_t part);

  PosixFile file_;
  std::uint64_t file_size_ = 0;
  std::unique_ptr<char[]> buffers_;  // kParts pieces.
  std::array<Part, kParts> parts_;
};

// The records of one part, in the order in which they were appended.
//
//   while (reader.Next()) Use(reader.key(), reader.sightings());
//   if (!reader.status().ok()) …
class SpillReader {
 public:
  // REQUIRES: `spill` is sealed and outlives this.
  SpillReader(SpillFile& spill, std::size_t part);

  bool Next();
  [[nodiscard]] std::string_view key() const { return key_; }  // Valid until Next().
  [[nodiscard]] const Sightings& sightings() const { return sightings_; }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  bool NextPiece();
  std::uint64_t Number();

  SpillFile& spill_;
  const SpillFile::Part& part_;
  const std::unique_ptr<char[]> buffer_;
  std::size_t pieces_read_ = 0;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::string_view key_;
  Sightings sightings_;
  Status status_;
};

}  // namespace keymill::load
