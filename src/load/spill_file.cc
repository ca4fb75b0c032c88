// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A record is: 2 * size of the key + (1 if it was seen more than once); the step of `first`
// from the record before it; in the latter case count and second - first; the key. Numbers
// take seven bits a byte, lowest first, so a key of seven characters takes ten bytes.

#include "load/spill_file.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace keymill::load {
namespace {

constexpr std::size_t kNumberSizeMax = 10;
constexpr std::size_t kRecordHeadMax = 4 * kNumberSizeMax;

char* PutNumber(char* at, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) *at++ = static_cast<char>(number | 0x80);
  *at++ = static_cast<char>(number);
  return at;
}

}  // namespace

SpillFile::SpillFile(PosixFile file)
    : file_(std::move(file)),
      buffers_(std::make_unique_for_overwrite<char[]>(kParts * kPieceSizeMax)) {}

Status SpillFile::Append(std::size_t part, std::string_view key, const Sightings& sightings) {
  KEYMILL_CHECK(buffers_ != nullptr && key.size() <= kPieceSizeMax / 2);
  Part& to = parts_[part];
  if (kPieceSizeMax - to.buffered < kRecordHeadMax + key.size()) {
    if (Status status = Flush(part); !status.ok()) return status;
  }
  const bool repeated = sightings.count > 1;
  char* const start = BufferOf(part);
  char* at = PutNumber(start + to.buffered, key.size() * 2 + (repeated ? 1 : 0));
  at = PutNumber(at, sightings.first - to.last_first);
  if (repeated) {
    at = PutNumber(at, sightings.count);
    at = PutNumber(at, sightings.second - sightings.first);
  }
  std::memcpy(at, key.data(), key.size());
  to.buffered = static_cast<std::size_t>(at - start) + key.size();
  to.last_first = sightings.first;
  ++to.records;
  return Status::Ok();
}

Status SpillFile::Flush(std::size_t part) {
  Part& from = parts_[part];
  if (from.buffered == 0) return Status::Ok();
  Status status = file_.Append({BufferOf(part), from.buffered});
  if (!status.ok()) return status;
  from.pieces.push_back({file_size_, from.buffered});
  file_size_ += std::exchange(from.buffered, 0);
  return Status::Ok();
}

Status SpillFile::Seal() {
  for (std::size_t part = 0; part < kParts; ++part) {
    if (Status status = Flush(part); !status.ok()) return status;
  }
  buffers_.reset();
  return Status::Ok();
}

SpillReader::SpillReader(SpillFile& spill, std::size_t part)
    : spill_(spill),
      part_(spill.parts_[part]),
      buffer_(std::make_unique_for_overwrite<char[]>(SpillFile::kPieceSizeMax)) {}

bool SpillReader::Next() {
  if (at_ == end_ && !NextPiece()) return false;
  const std::uint64_t head = Number();
  sightings_.first += Number();
  sightings_.count = 1;
  sightings_.second = 0;
  if ((head & 1) != 0) {
    sightings_.count = Number();
    sightings_.second = sightings_.first + Number();
  }
  key_ = std::string_view(at_, head / 2);
  at_ += key_.size();
  return true;
}

bool SpillReader::NextPiece() {
  if (pieces_read_ == part_.pieces.size() || !status_.ok()) return false;
  const SpillFile::Piece& piece = part_.pieces[pieces_read_++];
  status_ = spill_.file_.ReadAt(piece.offset, {buffer_.get(), piece.size});
  if (!status_.ok()) return false;
  at_ = buffer_.get();
  end_ = at_ + piece.size;
  return true;
}

std::uint64_t SpillReader::Number() {
  std::uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at_++);
    number |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return number;
  }
}

}  // namespace keymill::load
