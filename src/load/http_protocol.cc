// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/http_protocol.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace keymill::load {
namespace {

constexpr std::size_t kHeadSizeMax = std::size_t{64} << 10;
constexpr int kSizeDigitsMax = 15;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool EqualsLower(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return Lower(a) == b; });
}

// Whether `lower` is the last word of a list such as "gzip, chunked".
bool EndsWithLower(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && EqualsLower(text.substr(text.size() - lower.size()), lower);
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (Lower(c) >= 'a' && Lower(c) <= 'f') return Lower(c) - 'a' + 10;
  return -1;
}

std::string_view TakeFront(std::string_view& bytes, std::size_t size) {
  const std::string_view front = bytes.substr(0, size);
  bytes.remove_prefix(front.size());
  return front;
}

}  // namespace

HttpProtocol::HttpProtocol(std::string_view method, std::string_view authority,
                           std::string_view path) {
  request_.append(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: ");
  request_.append(authority).append("\r\n");
  if (method == "POST") request_ += "Accept: text/plain\r\nContent-Length: 0\r\n";
  request_ += "\r\n";
}

std::unique_ptr<AnswerReader> HttpProtocol::NewReader() const {
  return std::make_unique<HttpAnswerReader>();
}

void HttpAnswerReader::Reset() {
  state_ = State::kHead;
  head_text_.clear();
  key_text_.clear();
  line_empty_ = true;
}

bool HttpAnswerReader::Consume(std::string_view bytes, AnswerSink& sink) {
  while (!bytes.empty()) {
    bool fine = false;
    switch (state_) {
      case State::kHead:
        fine = TakeHead(bytes, sink);
        break;
      case State::kBody:
      case State::kChunkData:
        fine = TakeBody(bytes, sink);
        break;
      case State::kChunkSize:
        fine = TakeChunkSize(bytes);
        break;
      case State::kChunkSizeLine:
      case State::kChunkEnd:
      case State::kTrailer:
        fine = TakeFraming(bytes, sink);
        break;
    }
    if (!fine) return false;
  }
  return true;
}

bool HttpAnswerReader::TakeHead(std::string_view& bytes, AnswerSink& sink) {
  if (head_text_.empty() && !last_head_.empty() && bytes.starts_with(last_head_)) {
    bytes.remove_prefix(last_head_.size());
    return BeginBody(sink);
  }
  // Bytes of an unfinished head are gathered; a head that came at once is read in place.
  const std::size_t before = head_text_.size();
  std::string_view text = bytes;
  if (before > 0) {
    head_text_.append(bytes);
    text = head_text_;
  }
  const std::size_t end = text.find(kHeadEnd, before > 3 ? before - 3 : 0);
  if (end == std::string_view::npos) {
    if (before == 0) head_text_.assign(bytes);
    bytes = {};
    return head_text_.size() <= kHeadSizeMax;
  }
  const std::size_t size = end + kHeadEnd.size();
  last_head_.assign(text.substr(0, size));
  head_text_.clear();
  bytes.remove_prefix(size - before);
  head_ = Head();
  if (size <= kHeadSizeMax && ParseHead(last_head_, head_)) return BeginBody(sink);
  last_head_.clear();
  return false;
}

bool HttpAnswerReader::ParseHead(std::string_view text, Head& head) {
  if (text.size() < 13 || !text.starts_with("HTTP/1.") || text[8] != ' ') return false;
  const auto parsed = std::from_chars(text.data() + 9, text.data() + 12, head.status);
  if (parsed.ptr != text.data() + 12 || head.status < 100) return false;
  head.close = text[7] == '0';
  text.remove_prefix(text.find("\r\n") + 2);
  while (text.size() > 2) {
    const std::size_t end = text.find("\r\n");
    if (!ParseField(text.substr(0, end), head)) return false;
    text.remove_prefix(end + 2);
  }
  return true;
}

bool HttpAnswerReader::ParseField(std::string_view line, Head& head) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = Trim(line.substr(colon + 1));
  if (EqualsLower(name, "content-length")) {
    const char* const end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, head.length);
    head.has_length = parsed.ec == std::errc() && parsed.ptr == end;
    return head.has_length;
  }
  if (EqualsLower(name, "transfer-encoding")) head.chunked = EndsWithLower(value, "chunked");
  if (EqualsLower(name, "connection")) head.close = EqualsLower(value, "close");
  return true;
}

bool HttpAnswerReader::BeginBody(AnswerSink& sink) {
  key_text_.clear();
  if (head_.status < 200) return true;  // The final answer is still to come.
  if (head_.chunked) {
    state_ = State::kChunkSize;
    left_ = 0;
    size_digits_ = 0;
    return true;
  }
  if (head_.status == 204 || head_.status == 304) return EndAnswer(sink);
  if (!head_.has_length) return false;
  if (head_.length == 0) return EndAnswer(sink);
  left_ = head_.length;
  state_ = State::kBody;
  return true;
}

bool HttpAnswerReader::TakeBody(std::string_view& bytes, AnswerSink& sink) {
  const std::string_view text = TakeFront(bytes, left_);
  left_ -= text.size();
  if (head_.status == 200 && !TakeKeys(text, sink)) return false;
  if (left_ > 0) return true;
  if (state_ == State::kBody) return EndAnswer(sink);
  state_ = State::kChunkEnd;
  return true;
}

bool HttpAnswerReader::TakeKeys(std::string_view text, AnswerSink& sink) {
  while (!text.empty()) {
    const auto* const end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
    if (end == nullptr) break;
    std::string_view line = text.substr(0, static_cast<std::size_t>(end - text.data()));
    text.remove_prefix(line.size() + 1);
    if (!key_text_.empty()) {
      key_text_.append(line);
      line = key_text_;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > kBenchKeySizeMax) return false;
    if (!line.empty()) sink.OnKey(line);
    key_text_.clear();
  }
  if (text.empty()) return true;
  // A bare body that came at once is the common answer: it needs no copy.
  if (state_ == State::kBody && left_ == 0 && key_text_.empty() &&
      text.size() <= kBenchKeySizeMax && text.back() != '\r') {
    sink.OnKey(text);
    return true;
  }
  key_text_.append(text);
  return key_text_.size() <= kBenchKeySizeMax + 1;
}

bool HttpAnswerReader::TakeChunkSize(std::string_view& bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(1)) {
    const int digit = HexDigit(bytes.front());
    if (digit < 0) {
      state_ = State::kChunkSizeLine;
      return size_digits_ > 0;
    }
    if (++size_digits_ > kSizeDigitsMax) return false;
    left_ = left_ * 16 + static_cast<std::size_t>(digit);
  }
  return true;
}

bool HttpAnswerReader::TakeFraming(std::string_view& bytes, AnswerSink& sink) {
  const char c = TakeFront(bytes, 1).front();
  if (c != '\n') {
    if (c != '\r') line_empty_ = false;
    return state_ != State::kChunkEnd || c == '\r';
  }
  const bool empty = line_empty_;
  line_empty_ = true;
  switch (state_) {
    case State::kChunkSizeLine:
      state_ = left_ > 0 ? State::kChunkData : State::kTrailer;
      return true;
    case State::kChunkEnd:
      state_ = State::kChunkSize;
      size_digits_ = 0;
      return true;
    default:
      return !empty || EndAnswer(sink);
  }
}

bool HttpAnswerReader::EndAnswer(AnswerSink& sink) {
  std::string_view last = key_text_;
  if (last.ends_with('\r')) last.remove_suffix(1);
  if (last.size() > kBenchKeySizeMax) return false;
  if (head_.status == 200 && !last.empty()) sink.OnKey(last);
  state_ = State::kHead;
  sink.OnAnswer(head_.status, head_.close);
  return true;
}

}  // namespace keymill::load
