// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/resp_command.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "wire/hex_digit.h"

namespace keymill::wire {
namespace {

constexpr std::size_t kKeptMax = 64 * 1024;

std::optional<std::int64_t> ParseCount(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return count;
}

// Takes a small number and its CRLF off `text`; -1 when something else is there.
int TakeSmallLine(std::string_view& text) {
  constexpr std::size_t kDigitsMax = 5;
  int number = 0;
  std::size_t at = 0;
  while (at < text.size() && at < kDigitsMax && text[at] >= '0' && text[at] <= '9') {
    number = number * 10 + (text[at++] - '0');
  }
  if (at == 0 || text.size() < at + 2 || text[at] != '\r' || text[at + 1] != '\n') return -1;
  text.remove_prefix(at + 2);
  return number;
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0'; }

// What stands behind a backslash between double quotes; takes it off `line`.
char Unescape(std::string_view& line) {
  if (line.size() >= 3 && line[0] == 'x' && HexDigit(line[1]) >= 0 && HexDigit(line[2]) >= 0) {
    const int byte = HexDigit(line[1]) * 16 + HexDigit(line[2]);
    line.remove_prefix(3);
    return static_cast<char>(byte);
  }
  const char c = line.front();
  line.remove_prefix(1);
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

}  // namespace

RespCommandReader::Outcome RespCommandReader::Read(std::string_view& input) {
  if (state_ == State::kBegin && ReadInPlace(input)) return Outcome::kWhole;
  while (!input.empty() && state_ != State::kMalformed) {
    if (state_ == State::kCount || state_ == State::kInline || state_ == State::kLength) {
      if (!TakeLine(input)) continue;
      if (OnLine() == Outcome::kWhole) return Outcome::kWhole;
      continue;
    }
    if (state_ == State::kWord) {
      const std::string_view piece = input.substr(0, word_left_);
      data_.append(piece);
      input.remove_prefix(piece.size());
      word_left_ -= piece.size();
      if (word_left_ == 0) state_ = State::kWordCr;
      continue;
    }
    const char c = input.front();
    // The first byte of a line of words belongs to it.
    if (state_ == State::kBegin && c != '*') {
      Clear();
      state_ = State::kInline;
      continue;
    }
    input.remove_prefix(1);
    if (OnByte(c) == Outcome::kWhole) return Outcome::kWhole;
  }
  return state_ == State::kMalformed ? Outcome::kMalformed : Outcome::kNeedMore;
}

bool RespCommandReader::ReadInPlace(std::string_view& input) {
  constexpr int kWordsMax = 16;  // More are rare, and need not be fast.
  if (!input.starts_with('*')) return false;
  std::string_view rest = input.substr(1);
  const int count = TakeSmallLine(rest);
  if (count < 1 || count > kWordsMax || static_cast<std::size_t>(count) > limits_.words_max) {
    return false;
  }
  words_.clear();
  std::size_t total = 0;
  for (int i = 0; i < count; ++i) {
    if (!rest.starts_with('$')) return false;
    rest.remove_prefix(1);
    const int length = TakeSmallLine(rest);
    const auto size = static_cast<std::size_t>(length);
    if (length < 0 || size > limits_.word_max || size > limits_.total_max - total) return false;
    if (rest.size() < size + 2 || rest[size] != '\r' || rest[size + 1] != '\n') return false;
    words_.push_back(rest.substr(0, size));
    total += size;
    rest.remove_prefix(size + 2);
  }
  input = rest;
  return true;
}

void RespCommandReader::Clear() {
  // One large command must not make an idle connection large for ever.
  if (data_.capacity() > kKeptMax) data_ = {};
  if (places_.capacity() > kKeptMax / sizeof(places_[0])) {
    places_ = {};
    words_ = {};
  }
  line_.clear();
  data_.clear();
  places_.clear();
  words_.clear();
  words_left_ = 0;
}

void RespCommandReader::Fail(std::string_view detail) {
  detail_ = detail;
  state_ = State::kMalformed;
}

// Whether the line is whole. Its LF is taken; the CR before it is not part of it.
bool RespCommandReader::TakeLine(std::string_view& input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::size_t size = line_.size() + end;
  // One more for the CR, and nothing else.
  const bool cr = end > 0 ? input[end - 1] == '\r' : line_.ends_with('\r');
  if (size > limits_.line_max + (cr ? 1 : 0)) {
    Fail(state_ == State::kInline ? "Protocol error: too big inline request"
                                  : "Protocol error: too big count string");
    return false;
  }
  line_.append(input.substr(0, end));
  input.remove_prefix(end);
  if (input.empty()) return false;
  input.remove_prefix(1);
  if (line_.ends_with('\r')) {
    line_.pop_back();
  } else if (state_ != State::kInline) {
    Fail("Protocol error: expected CRLF");
    return false;
  }
  return true;
}

RespCommandReader::Outcome RespCommandReader::OnByte(char c) {
  if (state_ == State::kBegin) {
    Clear();
    state_ = State::kCount;
  } else if (state_ == State::kBulk) {
    if (c != '$') {
      Fail("Protocol error: expected '$'");
    } else {
      line_.clear();
      state_ = State::kLength;
    }
  } else if (state_ == State::kWordCr) {
    if (c != '\r') {
      Fail("Protocol error: invalid bulk length");  // The word is longer or shorter than it said.
    } else {
      state_ = State::kWordLf;
    }
  } else if (c != '\n') {
    Fail("Protocol error: invalid bulk length");
  } else {
    places_.back().second = data_.size();
    if (--words_left_ == 0) return Whole();
    state_ = State::kBulk;
  }
  return Outcome::kNeedMore;
}

RespCommandReader::Outcome RespCommandReader::OnLine() {
  if (state_ == State::kInline) return OnInline();
  if (state_ == State::kCount) {
    OnCount();
  } else {
    OnLength();
  }
  return Outcome::kNeedMore;
}

void RespCommandReader::OnCount() {
  const auto count = ParseCount(line_);
  if (!count || *count > static_cast<std::int64_t>(limits_.words_max)) {
    return Fail("Protocol error: invalid multibulk length");
  }
  if (*count <= 0) {
    state_ = State::kBegin;
    return;
  }
  words_left_ = static_cast<std::size_t>(*count);
  state_ = State::kBulk;
}

void RespCommandReader::OnLength() {
  const auto length = ParseCount(line_);
  if (!length || *length < 0 || static_cast<std::size_t>(*length) > limits_.word_max ||
      static_cast<std::size_t>(*length) > limits_.total_max - data_.size()) {
    return Fail("Protocol error: invalid bulk length");
  }
  word_left_ = static_cast<std::size_t>(*length);
  places_.emplace_back(data_.size(), data_.size());
  state_ = word_left_ == 0 ? State::kWordCr : State::kWord;
}

RespCommandReader::Outcome RespCommandReader::OnInline() {
  std::string_view line = line_;
  for (;;) {
    while (!line.empty() && IsSpace(line.front())) line.remove_prefix(1);
    if (line.empty()) break;
    if (places_.size() >= limits_.words_max) {
      Fail("Protocol error: too big inline request");
      return Outcome::kMalformed;
    }
    places_.emplace_back(data_.size(), 0);
    if (!AppendWord(line)) {
      Fail("Protocol error: unbalanced quotes in request");
      return Outcome::kMalformed;
    }
    places_.back().second = data_.size();
  }
  if (!places_.empty()) return Whole();
  state_ = State::kBegin;
  return Outcome::kNeedMore;
}

// Takes one word off `line`; false when its quotes are not closed, or something touches them.
bool RespCommandReader::AppendWord(std::string_view& line) {
  while (!line.empty() && !IsSpace(line.front())) {
    if (line.front() == '"' || line.front() == '\'') {
      return AppendQuoted(line) && (line.empty() || IsSpace(line.front()));
    }
    data_ += line.front();
    line.remove_prefix(1);
  }
  return true;
}

bool RespCommandReader::AppendQuoted(std::string_view& line) {
  const char quote = line.front();
  line.remove_prefix(1);
  while (!line.empty()) {
    char c = line.front();
    line.remove_prefix(1);
    if (c == quote) return true;
    if (c == '\\' && !line.empty()) {
      if (quote == '"') {
        c = Unescape(line);
      } else if (line.front() == '\'') {
        c = '\'';
        line.remove_prefix(1);
      }
    }
    data_ += c;
  }
  return false;
}

RespCommandReader::Outcome RespCommandReader::Whole() {
  for (const auto& [begin, end] : places_) {
    words_.push_back(std::string_view(data_).substr(begin, end - begin));
  }
  state_ = State::kBegin;
  return Outcome::kWhole;
}

}  // namespace keymill::wire
