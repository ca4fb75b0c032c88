// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/resp_protocol.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace keymill::load {
namespace {

constexpr std::size_t kLineMax = 64 * 1024;
constexpr std::string_view kLineEnd = "\r\n";

bool ParseNumber(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

int StatusOf(std::string_view error) {
  static constexpr std::array<std::pair<std::string_view, int>, 6> kStatuses = {{
      {"NOTFOUND", 404},
      {"CONFLICT", 409},
      {"EXHAUSTED", 507},
      {"RATELIMITED", 429},
      {"UNAVAILABLE", 503},
      {"NOAUTH", 401},
  }};
  const std::string_view word = error.substr(0, error.find(' '));
  for (const auto& [name, status] : kStatuses) {
    if (name == word) return status;
  }
  return 400;
}

}  // namespace

RespProtocol::RespProtocol(std::string_view keyspace, std::uint64_t count) {
  const std::string number = fmt::to_string(count);
  request_ = fmt::format("*{}\r\n$12\r\nKEYMILL.MINT\r\n${}\r\n{}\r\n", count == 1 ? 2 : 4,
                         keyspace.size(), keyspace);
  if (count != 1) request_ += fmt::format("$5\r\nCOUNT\r\n${}\r\n{}\r\n", number.size(), number);
}

std::unique_ptr<AnswerReader> RespProtocol::NewReader() const {
  return std::make_unique<RespAnswerReader>();
}

void RespAnswerReader::Reset() {
  in_text_ = false;
  text_left_ = 0;
  items_left_ = 0;
  status_ = 200;
  kept_.clear();
}

bool RespAnswerReader::Consume(std::string_view bytes, AnswerSink& sink) {
  while (!bytes.empty()) {
    if (!(in_text_ ? TakeText(bytes, sink) : TakeLine(bytes, sink))) return false;
  }
  return true;
}

bool RespAnswerReader::TakeLine(std::string_view& bytes, AnswerSink& sink) {
  const std::size_t end = bytes.find('\n');
  const std::string_view piece = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
  bytes.remove_prefix(piece.size());
  if (kept_.size() + piece.size() > kLineMax) return false;
  std::string_view line = piece;
  if (!kept_.empty() || end == std::string_view::npos) {
    kept_ += piece;
    if (end == std::string_view::npos) return true;
    line = kept_;
  }
  if (!line.ends_with(kLineEnd)) return false;
  line.remove_suffix(kLineEnd.size());
  const bool fine = OnLine(line, sink);
  kept_.clear();
  return fine;
}

bool RespAnswerReader::OnLine(std::string_view line, AnswerSink& sink) {
  if (line.empty()) return false;
  const std::string_view rest = line.substr(1);
  std::int64_t number = 0;
  switch (line.front()) {
    case '-':
      OnItem(StatusOf(rest), sink);
      return true;
    case ':':
      if (!ParseNumber(rest, number)) return false;
      sink.OnKey(rest);
      OnItem(200, sink);
      return true;
    case '$':
      if (!ParseNumber(rest, number) || number < 0 ||
          static_cast<std::size_t>(number) > kBenchKeySizeMax) {
        return false;
      }
      text_left_ = static_cast<std::size_t>(number) + kLineEnd.size();
      in_text_ = true;
      return true;
    case '*':
      if (!ParseNumber(rest, number) || number < 0 || items_left_ > 0) return false;
      items_left_ = static_cast<std::uint64_t>(number);
      if (number == 0) sink.OnAnswer(200, false);
      return true;
    default:
      return false;
  }
}

bool RespAnswerReader::TakeText(std::string_view& bytes, AnswerSink& sink) {
  const std::string_view piece = bytes.substr(0, text_left_);
  bytes.remove_prefix(piece.size());
  text_left_ -= piece.size();
  std::string_view text = piece;
  if (!kept_.empty() || text_left_ > 0) {
    kept_ += piece;
    if (text_left_ > 0) return true;
    text = kept_;
  }
  if (!text.ends_with(kLineEnd)) return false;
  text.remove_suffix(kLineEnd.size());
  sink.OnKey(text);
  kept_.clear();
  in_text_ = false;
  OnItem(200, sink);
  return true;
}

// A value is whole: the answer, or one of its items.
void RespAnswerReader::OnItem(int status, AnswerSink& sink) {
  if (status != 200) status_ = status;
  if (items_left_ > 0 && --items_left_ > 0) return;
  sink.OnAnswer(std::exchange(status_, 200), false);
}

}  // namespace keymill::load
