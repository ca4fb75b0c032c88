// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Finds duplicates in files of keys that may be far larger than memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "keymill/status.h"

namespace keymill::load {

struct VerifyOptions {
  // Files of keys, one per line, ended by LF or CRLF; the last line may lack its end.
  // Blank lines are skipped. "-" is standard input.
  std::vector<std::string> files;

  // Where keys go that do not fit in memory: about three bytes more than the key takes
  // each. Empty means the system's directory for temporary files. The files there have no
  // name, so that they vanish with the process, however it ends.
  std::filesystem::path temp_dir;

  // Bytes for the keys that are being compared. More means fewer trips to the disk. Less
  // than 64 KiB is taken as 64 KiB; buffers of some 20 MiB come on top.
  std::size_t memory_max = std::size_t{256} << 20;

  // How many duplicates the report shows; all of them are counted.
  std::size_t report_max = 20;
};

// A key that was seen more than once.
struct Duplicate {
  std::string key;
  std::uint64_t count = 0;  // How often it was seen, the first time included.
  std::string first_file;
  std::uint64_t first_line = 0;  // Counted from 1, blank lines included.
  std::string second_file;
  std::uint64_t second_line = 0;
};

struct VerifyReport {
  std::uint64_t keys = 0;            // Lines that hold a key.
  std::uint64_t distinct = 0;        // Different keys among them.
  std::uint64_t duplicate_keys = 0;  // Different keys that were seen more than once.
  std::vector<Duplicate> first;      // In the order in which they were seen again.
};

// The longest key, in bytes, without the end of its line.
inline constexpr std::size_t kVerifyKeySizeMax = 4096;

// Reads all of `options.files`, in order, as one stream of keys and reports those that
// occur more than once. Keys are any bytes and are compared as bytes: the answer is exact.
//
// Errors:
//   kInvalidArgument   a line is longer than kVerifyKeySizeMax ("FILE:LINE"), or a file is a
//                      directory.
//   kNotFound          a file or temp_dir does not exist.
//   kPermissionDenied  a file or temp_dir may not be opened.
//   kUnavailable       reading a file or writing to temp_dir failed, or the disk is full.
// Every message names the file.
Result<VerifyReport> Verify(const VerifyOptions& options);

}  // namespace keymill::load
