// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Commands as clients of Redis send them: an array of bulk strings, or a line of words.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keymill::wire {

struct RespCommandLimits {
  std::size_t line_max = 64 * 1024;           // A line without its end.
  std::size_t words_max = 1024UL * 1024;      // Of one command.
  std::size_t word_max = 1024UL * 1024;       // Bytes of one word.
  std::size_t total_max = 4UL * 1024 * 1024;  // Bytes of all words of one command.
};

// Reads commands from bytes that come in pieces. What comes of them does not depend on where the
// pieces end. A command that lies in one piece is read where it is; others are put together in
// memory that is used again for the next one, so that a busy connection stops allocating.
class RespCommandReader {
 public:
  explicit RespCommandReader(const RespCommandLimits& limits = {}) : limits_(limits) {}

  enum class Outcome : std::uint8_t { kWhole, kNeedMore, kMalformed };

  // Takes what it uses off `input`: all of it, unless a command is whole before. Empty commands
  // are passed over. After kMalformed the connection must be closed.
  Outcome Read(std::string_view& input);

  // The command that Read said was whole, at least one word; valid until the next Read, and as long
  // as the input that was read.
  [[nodiscard]] std::span<const std::string_view> words() const { return words_; }

  // A command has begun and is not whole yet.
  [[nodiscard]] bool in_command() const { return state_ != State::kBegin; }

  // What to tell the client; begins with "Protocol error", as Redis has it.
  [[nodiscard]] std::string_view detail() const { return detail_; }

 private:
  enum class State : std::uint8_t {
    kBegin,   // At the first byte of a command.
    kCount,   // In the line behind a "*".
    kInline,  // In a line of words.
    kBulk,    // At the "$" of a word.
    kLength,  // In the line behind it.
    kWord,    // In the bytes of a word.
    kWordCr,
    kWordLf,
    kMalformed,
  };

  // Whether a whole and plain command lay at the beginning of `input`. If not, nothing has changed.
  bool ReadInPlace(std::string_view& input);
  bool TakeLine(std::string_view& input);
  Outcome OnByte(char c);
  Outcome OnLine();
  Outcome OnInline();
  void OnCount();
  void OnLength();
  bool AppendWord(std::string_view& line);
  bool AppendQuoted(std::string_view& line);
  Outcome Whole();
  void Clear();
  void Fail(std::string_view detail);

  const RespCommandLimits limits_;
  State state_ = State::kBegin;
  std::string line_;
  std::string data_;                                         // The words, one after the other.
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // Where they begin and end there.
  std::vector<std::string_view> words_;
  std::size_t words_left_ = 0;
  std::size_t word_left_ = 0;
  std::string_view detail_;
};

}  // namespace keymill::wire
