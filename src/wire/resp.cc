// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/resp.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace keymill::wire {
namespace {

constexpr std::size_t kVerbatimPrefix = 4;  // "txt:"

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return {};
  }
  std::int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return integer;
}

std::optional<double> ParseDouble(std::string_view text) {
  if (text == "nan") return std::nan("");
  if (text.starts_with('+')) text.remove_prefix(1);
  // from_chars knows more words for these than the protocol does.
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  if (text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return {};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

bool IsBigNumber(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

RespType TypeOf(char mark) {
  switch (mark) {
    case '+':
      return RespType::kSimple;
    case '-':
    case '!':
      return RespType::kError;
    case ':':
      return RespType::kInteger;
    case '$':
      return RespType::kBulk;
    case ',':
      return RespType::kDouble;
    case '#':
      return RespType::kBoolean;
    case '(':
      return RespType::kBigNumber;
    case '=':
      return RespType::kVerbatim;
    case '*':
      return RespType::kArray;
    case '%':
    case '|':
      return RespType::kMap;
    case '~':
      return RespType::kSet;
    case '>':
      return RespType::kPush;
    default:
      return RespType::kNull;
  }
}

}  // namespace

RespReader::Outcome RespReader::Read(std::string_view& input) {
  while (!input.empty() && state_ != State::kWhole && state_ != State::kMalformed) {
    if (state_ == State::kLine) {
      TakeLine(input);
      continue;
    }
    if (state_ == State::kText) {
      TakeText(input);
      continue;
    }
    const char c = input.front();
    input.remove_prefix(1);
    if (state_ == State::kType) {
      OnType(c);
    } else if (state_ == State::kLineEnd) {
      Expect(c, '\n', State::kType);
      if (state_ != State::kMalformed) OnLine();
    } else if (state_ == State::kTextCr) {
      Expect(c, '\r', State::kTextLf);
    } else {
      Expect(c, '\n', State::kType);
      if (state_ != State::kMalformed) FinishText();
    }
  }
  if (state_ == State::kMalformed) return Outcome::kMalformed;
  return state_ == State::kWhole ? Outcome::kWhole : Outcome::kNeedMore;
}

RespValue RespReader::Take() {
  KEYMILL_CHECK(state_ == State::kWhole);
  state_ = State::kType;
  elements_ = 0;
  total_ = 0;
  return std::exchange(value_, {});
}

void RespReader::Fail(std::string_view detail) {
  detail_ = detail;
  state_ = State::kMalformed;
}

void RespReader::Expect(char c, char expected, State next) {
  if (c != expected) return Fail("a line or a string does not end in CRLF");
  state_ = next;
}

void RespReader::OnType(char c) {
  static constexpr std::string_view kMarks = "+-:$*_,#(!=%~>|";
  if (kMarks.find(c) == std::string_view::npos) return Fail("no type of value begins so");
  if (++elements_ > limits_.elements_max) return Fail("too many elements");
  mark_ = c;
  value_ = {};
  value_.type = TypeOf(c);
  line_.clear();
  state_ = State::kLine;
}

void RespReader::TakeLine(std::string_view& input) {
  const std::size_t end = std::min(input.find_first_of("\r\n"), input.size());
  if (end > limits_.line_max - line_.size()) return Fail("a line is too long");
  line_.append(input.substr(0, end));
  input.remove_prefix(end);
  if (input.empty()) return;
  if (input.front() != '\r') return Fail("a line or a string does not end in CRLF");
  input.remove_prefix(1);
  state_ = State::kLineEnd;
}

void RespReader::TakeText(std::string_view& input) {
  const std::string_view piece = input.substr(0, text_left_);
  value_.text.append(piece);
  input.remove_prefix(piece.size());
  text_left_ -= piece.size();
  if (text_left_ == 0) state_ = State::kTextCr;
}

void RespReader::OnLine() {
  switch (mark_) {
    case '+':
    case '-':
      if (line_.size() > limits_.total_max - total_) return Fail("a value is too large");
      total_ += line_.size();
      value_.text = line_;
      return Finish(std::move(value_));
    case '$':
    case '!':
    case '=':
      return OnLength();
    case '*':
    case '%':
    case '~':
    case '>':
    case '|':
      return OnCount();
    default:
      return OnNumberLine();
  }
}

void RespReader::OnNumberLine() {
  if (mark_ == ':') {
    const auto integer = ParseInteger(line_);
    if (!integer) return Fail("an integer is none");
    value_.integer = *integer;
  } else if (mark_ == ',') {
    const auto number = ParseDouble(line_);
    if (!number) return Fail("a double is none");
    value_.number = *number;
  } else if (mark_ == '#') {
    if (line_ != "t" && line_ != "f") return Fail("a boolean is neither t nor f");
    value_.integer = line_ == "t" ? 1 : 0;
  } else if (mark_ == '(') {
    if (!IsBigNumber(line_)) return Fail("a big number is none");
    if (line_.size() > limits_.total_max - total_) return Fail("a value is too large");
    total_ += line_.size();
    value_.text = line_;
  } else if (!line_.empty()) {
    return Fail("a null with something behind it");
  }
  Finish(std::move(value_));
}

void RespReader::OnLength() {
  if (mark_ == '$' && line_ == "-1") {
    value_.type = RespType::kNull;
    return Finish(std::move(value_));
  }
  const auto length = ParseInteger(line_);
  if (!length || *length < 0) return Fail("a length is no number");
  const auto size = static_cast<std::size_t>(*length);
  if (size > limits_.bulk_max) return Fail("a string is too long");
  if (size > limits_.total_max - total_) return Fail("a value is too large");
  total_ += size;
  text_left_ = size;
  state_ = size == 0 ? State::kTextCr : State::kText;
}

void RespReader::FinishText() {
  if (mark_ == '=' &&
      (value_.text.size() < kVerbatimPrefix || value_.text[kVerbatimPrefix - 1] != ':')) {
    return Fail("a verbatim string does not name its format");
  }
  Finish(std::move(value_));
}

void RespReader::OnCount() {
  if (mark_ == '*' && line_ == "-1") {
    value_.type = RespType::kNull;
    return Finish(std::move(value_));
  }
  const auto count = ParseInteger(line_);
  if (!count || *count < 0) return Fail("a count is no number");
  const bool pairs = mark_ == '%' || mark_ == '|';
  const auto items = static_cast<std::size_t>(*count);
  if (items > (limits_.elements_max - elements_) / (pairs ? 2 : 1)) {
    return Fail("too many elements");
  }
  Open(pairs ? 2 * items : items);
}

void RespReader::Open(std::size_t items) {
  const bool attributes = mark_ == '|';
  if (attributes && has_attributes_) return Fail("attributes of attributes");
  if (items == 0 && !attributes) return Finish(std::move(value_));
  if (frames_.size() >= limits_.depth_max) return Fail("values are nested too deeply");
  if (items == 0) {
    has_attributes_ = true;
    state_ = State::kType;
    return;
  }
  // What belongs to this value must wait with it: its items may have attributes of their own.
  if (!attributes) {
    value_.attributes = std::exchange(attributes_, {});
    has_attributes_ = false;
  }
  frames_.push_back({std::exchange(value_, {}), items, attributes});
  state_ = State::kType;
}

// A value is whole: it goes to where it belongs, which may make that whole, and so on.
void RespReader::Finish(RespValue value) {
  if (has_attributes_) {
    value.attributes = std::exchange(attributes_, {});
    has_attributes_ = false;
  }
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    frame.value.items.push_back(std::move(value));
    if (--frame.left > 0) {
      state_ = State::kType;
      return;
    }
    const bool attributes = frame.attributes;
    value = std::move(frame.value);
    frames_.pop_back();
    if (attributes) {
      attributes_ = std::move(value.items);
      has_attributes_ = true;
      state_ = State::kType;
      return;
    }
  }
  value_ = std::move(value);
  state_ = State::kWhole;
}

void RespWriter::Header(char mark, std::size_t count) {
  fmt::format_to(std::back_inserter(out_), "{}{}\r\n", mark, count);
}

void RespWriter::Line(char mark, std::string_view text) {
  out_ += mark;
  for (const char c : text) out_ += c == '\r' || c == '\n' ? ' ' : c;
  out_ += "\r\n";
}

void RespWriter::Simple(std::string_view text) { Line('+', text); }
void RespWriter::Error(std::string_view text) { Line('-', text); }

void RespWriter::Integer(std::int64_t integer) {
  fmt::format_to(std::back_inserter(out_), ":{}\r\n", integer);
}

void RespWriter::Bulk(std::string_view text) {
  Header('$', text.size());
  out_ += text;
  out_ += "\r\n";
}

void RespWriter::Null() { out_ += version_ >= 3 ? "_\r\n" : "$-1\r\n"; }

void RespWriter::Double(double number) {
  const std::string text = std::isnan(number) ? "nan" : fmt::format("{}", number);
  if (version_ >= 3) return Line(',', text);
  Bulk(text);
}

void RespWriter::Boolean(bool value) {
  if (version_ >= 3) return Line('#', value ? "t" : "f");
  Integer(value ? 1 : 0);
}

void RespWriter::BigNumber(std::string_view digits) {
  KEYMILL_CHECK(IsBigNumber(digits));
  if (version_ >= 3) return Line('(', digits);
  Bulk(digits);
}

void RespWriter::Verbatim(std::string_view text) {
  KEYMILL_CHECK(text.size() >= kVerbatimPrefix && text[kVerbatimPrefix - 1] == ':');
  if (version_ < 3) return Bulk(text.substr(kVerbatimPrefix));
  Header('=', text.size());
  out_ += text;
  out_ += "\r\n";
}

void RespWriter::Array(std::size_t items) { Header('*', items); }

void RespWriter::Map(std::size_t pairs) {
  if (version_ >= 3) return Header('%', pairs);
  Header('*', 2 * pairs);
}

void RespWriter::Set(std::size_t items) { Header(version_ >= 3 ? '~' : '*', items); }
void RespWriter::Push(std::size_t items) { Header(version_ >= 3 ? '>' : '*', items); }

void RespWriter::Attributes(std::size_t pairs) {
  KEYMILL_CHECK(version_ >= 3);
  Header('|', pairs);
}

void RespWriter::Value(const RespValue& value) {
  if (!value.attributes.empty() && version_ >= 3) {
    Attributes(value.attributes.size() / 2);
    for (const RespValue& item : value.attributes) Value(item);
  }
  switch (value.type) {
    case RespType::kNull:
      return Null();
    case RespType::kSimple:
      return Simple(value.text);
    case RespType::kError:
      if (version_ < 3 || value.text.find_first_of("\r\n") == std::string::npos) {
        return Error(value.text);
      }
      Header('!', value.text.size());
      out_ += value.text;
      out_ += "\r\n";
      return;
    case RespType::kInteger:
      return Integer(value.integer);
    case RespType::kBulk:
      return Bulk(value.text);
    case RespType::kDouble:
      return Double(value.number);
    case RespType::kBoolean:
      return Boolean(value.integer != 0);
    case RespType::kBigNumber:
      return BigNumber(value.text);
    case RespType::kVerbatim:
      return Verbatim(value.text);
    case RespType::kArray:
      Array(value.items.size());
      break;
    case RespType::kMap:
      Map(value.items.size() / 2);
      break;
    case RespType::kSet:
      Set(value.items.size());
      break;
    case RespType::kPush:
      Push(value.items.size());
      break;
  }
  for (const RespValue& item : value.items) Value(item);
}

void AppendRespCommand(std::span<const std::string_view> words, std::string& out) {
  RespWriter writer(out);
  writer.Array(words.size());
  for (const std::string_view word : words) writer.Bulk(word);
}

}  // namespace keymill::wire
