// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/key_lines.h"

#include <cstring>
#include <utility>

namespace keymill::load {
namespace {

constexpr std::size_t kReadSize = std::size_t{1} << 20;

}  // namespace

KeyLines::KeyLines(PosixFile file, std::string name, std::size_t line_size_max)
    : file_(std::move(file)),
      name_(std::move(name)),
      line_size_max_(line_size_max),
      buffer_size_(kReadSize + line_size_max + 2),
      buffer_(std::make_unique_for_overwrite<char[]>(buffer_size_)) {}

bool KeyLines::Next() {
  for (;;) {
    const char* const start = buffer_.get() + begin_;
    const auto* const newline =
        static_cast<const char*>(std::memchr(start + scanned_, '\n', end_ - begin_ - scanned_));
    if (newline != nullptr) {
      const auto size = static_cast<std::size_t>(newline - start);
      return Take(size, size + 1);
    }
    scanned_ = end_ - begin_;
    // One byte more than a key may have can still be the CR of its end.
    if (scanned_ > line_size_max_ + 1) return Take(scanned_, scanned_);
    if (Fill()) continue;
    if (!status_.ok() || scanned_ == 0) return false;
    return Take(scanned_, scanned_);
  }
}

bool KeyLines::Take(std::size_t size, std::size_t size_with_end) {
  line_ = std::string_view(buffer_.get() + begin_, size);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  begin_ += size_with_end;
  scanned_ = 0;
  ++number_;
  if (line_.size() <= line_size_max_) return true;
  status_ = Status(Code::kInvalidArgument, "read " + name_ + ":" + std::to_string(number_) +
                                               ": the line is longer than " +
                                               std::to_string(line_size_max_) + " bytes");
  begin_ = end_;
  at_end_ = true;
  return false;
}

bool KeyLines::Fill() {
  if (at_end_) return false;
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  auto got = file_.Read({buffer_.get() + end_, buffer_size_ - end_});
  if (!got.ok()) status_ = got.status();
  at_end_ = !got.ok() || *got == 0;
  if (!at_end_) end_ += *got;
  return !at_end_;
}

}  // namespace keymill::load
