// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "keymill/status.h"

#include "load/posix_file.h"

namespace keymill::load {

// The lines of one file, without their ends (LF or CRLF).
//
//   while (lines.Next()) Use(lines.line());
//   if (!lines.status().ok()) …
class KeyLines {
 public:
  // `name` is for messages. Lines longer than `line_size_max` are an error.
  KeyLines(PosixFile file, std::string name, std::size_t line_size_max);

  // Moves to the next line; false at the end of the file and after an error.
  bool Next();
  [[nodiscard]] std::string_view line() const { return line_; }   // Valid until Next().
  [[nodiscard]] std::uint64_t number() const { return number_; }  // Counted from 1.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  // Moves what is left to the front of the buffer and reads on. False at the end of the
  // file and after an error.
  bool Fill();
  bool Take(std::size_t size, std::size_t size_with_end);

  PosixFile file_;
  const std::string name_;
  const std::size_t line_size_max_;
  const std::size_t buffer_size_;
  const std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;  // Bytes [begin_, end_) of the buffer are not yet used up.
  std::size_t end_ = 0;
  std::size_t scanned_ = 0;  // Bytes from begin_ on that are known to hold no LF.
  bool at_end_ = false;
  std::string_view line_;
  std::uint64_t number_ = 0;
  Status status_;
};

}  // namespace keymill::load
