// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Files as this room needs them: read in order, written in order, read again anywhere.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::load {

// An open file. Movable; closes what it owns.
class PosixFile {
 public:
  // Opens `name` for reading; "-" is standard input, which stays open afterwards.
  static Result<PosixFile> OpenForReading(const std::string& name);
  // A file in `dir` for writing and reading that no directory lists, so that it needs no
  // cleaning up. An empty `dir` means the system's directory for temporary files.
  static Result<PosixFile> CreateUnnamed(const std::filesystem::path& dir);

  PosixFile(PosixFile&& other) noexcept;
  PosixFile& operator=(PosixFile&& other) = delete;
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ~PosixFile();

  // Reads at least one byte from where the last Read ended; 0 at the end of the file.
  Result<std::size_t> Read(std::span<char> out);
  // Fills `out` from `offset` on. A file that ends earlier is an error.
  Status ReadAt(std::uint64_t offset, std::span<char> out);
  // Writes all of `bytes` where the last Append ended.
  Status Append(std::string_view bytes);

 private:
  PosixFile(int descriptor, bool owned, std::string name);

  int descriptor_;
  bool owned_;
  std::string name_;  // For messages.
};

}  // namespace keymill::load
