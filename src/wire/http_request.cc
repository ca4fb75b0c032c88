// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/http_request.h"

#include <algorithm>
#include <utility>

#include <boost/beast/core/string.hpp>

#include "base/check.h"
#include "wire/http_parser.h"

namespace keymill::wire {
namespace {

constexpr std::size_t kRememberedMax = 512;
constexpr std::string_view kEndOfLine = "\r\n";
constexpr std::string_view kEndOfHeader = "\r\n\r\n";

// Whether no header may hold `c` behind `before`: control characters, line ends that are not
// CRLF, and folded lines.
bool IsMistake(char before, char c) {
  if (c == '\n' || before == '\r') return c != '\n' || before != '\r';
  if (before == '\n' && (c == ' ' || c == '\t')) return true;
  return (static_cast<unsigned char>(c) < 0x20 && c != '\r' && c != '\t') || c == 0x7f;
}

bool StartsWithIgnoringCase(std::string_view text, std::string_view start) {
  const std::string_view head = text.substr(0, start.size());
  return boost::beast::iequals({head.data(), head.size()}, {start.data(), start.size()});
}

}  // namespace

std::size_t EmptyLines(std::string_view input) {
  std::size_t size = 0;
  while (size < kEmptyLinesMax * kEndOfLine.size() && input.substr(size).starts_with(kEndOfLine)) {
    size += kEndOfLine.size();
  }
  return size;
}

HttpReader::Outcome HttpReader::Read(std::string_view input) {
  const std::size_t skipped = EmptyLines(input);
  input.remove_prefix(skipped);
  // Half of another empty line, perhaps. Nothing has been learnt of the request so far.
  if (input == kEndOfLine.substr(0, 1)) return Outcome::kNeedMore;
  const Outcome outcome = ReadRequest(input);
  if (outcome == Outcome::kRequest) consumed_ += skipped;
  return outcome;
}

HttpReader::Outcome HttpReader::ReadRequest(std::string_view input) {
  const bool had_header = header_size_ != 0;
  if (!had_header) {
    chunks_.Clear();  // The last request's views into it end here.
    if (const Outcome outcome = ReadHeader(input); outcome != Outcome::kRequest) return outcome;
  }
  if (const Outcome outcome = ReadBody(input); outcome != Outcome::kRequest) return outcome;
  if (had_header) {
    // The input may have moved since the header was read, and the views with it.
    const Outcome again = Parse(input.substr(0, header_size_));
    KEYMILL_CHECK(again == Outcome::kRequest);
  }
  // Most connections send the same bytes over and over, and to compare them is much cheaper
  // than to read them.
  const bool repeatable = !chunked_ && content_length_ == 0 && header_size_ <= kRememberedMax;
  remembered_.assign(input.substr(0, repeatable ? header_size_ : 0));
  request_.body = chunked_ ? chunks_.data() : input.substr(header_size_, content_length_);
  consumed_ = header_size_ + (chunked_ ? chunks_.consumed() : content_length_);
  Restart();
  return Outcome::kRequest;
}

void HttpReader::Restart() {
  inspected_ = header_size_ = 0;
  line_parsed_ = expectation_ = false;
}

std::size_t HttpReader::CountRepeats(std::string_view input, std::size_t max) const {
  if (remembered_.empty() || !untouched()) return 0;
  std::size_t count = 0;
  while (count < max && input.starts_with(remembered_)) {
    input.remove_prefix(remembered_.size());
    ++count;
  }
  return count;
}

bool HttpReader::TakeExpectation() { return std::exchange(expectation_, false); }

HttpReader::Outcome HttpReader::Fail(int status, std::string_view detail) {
  error_ = {status, detail};
  return Outcome::kError;
}

HttpReader::Outcome HttpReader::ReadHeader(std::string_view input) {
  const std::string_view head = input.substr(0, limits_.header);
  const std::size_t end =
      head.find(kEndOfHeader, inspected_ - std::min<std::size_t>(inspected_, 3));
  if (!line_parsed_) {
    // Also when the header is whole, so that its fate does not depend on how it arrived.
    const std::string_view line = head.substr(0, limits_.request_line + kEndOfLine.size());
    const bool too_long = line.size() == limits_.request_line + kEndOfLine.size() &&
                          line.find(kEndOfLine) == std::string_view::npos;
    if (too_long) {
      const bool mistaken = Inspect(line) == Outcome::kError;
      return mistaken ? Outcome::kError : Refuse(line, 414, "the request line is too long");
    }
  }
  if (end == std::string_view::npos) return Inspect(head);
  const std::size_t size = end + kEndOfHeader.size();
  const Outcome outcome = Parse(head.substr(0, size));
  // A request line that is too short can look unfinished although its header has ended.
  if (outcome == Outcome::kNeedMore) return Fail(400, "this is no well-formed HTTP request");
  if (outcome == Outcome::kRequest) header_size_ = size;
  return outcome;
}

HttpReader::Outcome HttpReader::Inspect(std::string_view head) {
  for (; inspected_ < head.size(); ++inspected_) {
    const char c = head[inspected_];
    const char before = inspected_ == 0 ? '\0' : head[inspected_ - 1];
    const std::string_view prefix = head.substr(0, inspected_ + 1);
    if (IsMistake(before, c)) return Refuse(prefix, 400, "the header is malformed");
    // A bad request line is refused at once: whoever speaks another protocol waits for our
    // answer to it and will never send a header.
    if (c == '\n' && !std::exchange(line_parsed_, true)) {
      if (Parse(prefix) == Outcome::kError) return Outcome::kError;
    }
  }
  if (head.size() == limits_.header) return Refuse(head, 431, "the header is too large");
  return Outcome::kNeedMore;
}

HttpReader::Outcome HttpReader::Refuse(std::string_view head, int status, std::string_view detail) {
  return Parse(head) == Outcome::kError ? Outcome::kError : Fail(status, detail);
}

HttpReader::Outcome HttpReader::Parse(std::string_view header) {
  bytes_parsed_ += header.size();
  request_ = {};
  RequestParser parser(limits_, header, request_);
  switch (parser.Parse()) {
    case RequestParser::Outcome::kNeedMore:
      return Outcome::kNeedMore;
    case RequestParser::Outcome::kRefused:
      return Fail(parser.failure().status, parser.failure().detail);
    case RequestParser::Outcome::kWhole:
      break;
  }
  if (!ReadTarget(parser.target())) {
    return Fail(400, "the request target is neither a path nor a URL");
  }
  chunked_ = parser.chunked();
  if (parser.declared_size() > limits_.body && parser.declared_size() > BodyMax()) {
    return Fail(413, "the body is too large");
  }
  if (chunked_) chunks_.set_size_max(BodyMax());
  content_length_ = static_cast<std::size_t>(parser.declared_size());
  request_.keep_alive = parser.keep_alive();
  expectation_ = parser.expects_continue();
  return Outcome::kRequest;
}

HttpReader::Outcome HttpReader::ReadBody(std::string_view input) {
  if (!chunked_) {
    const bool whole = input.size() - header_size_ >= content_length_;
    return whole ? Outcome::kRequest : Outcome::kNeedMore;
  }
  switch (chunks_.Read(input.substr(header_size_))) {
    case ChunkedBody::Outcome::kNeedMore:
      return Outcome::kNeedMore;
    case ChunkedBody::Outcome::kMalformed:
      return Fail(400, chunks_.detail());
    case ChunkedBody::Outcome::kTooLarge:
      return Fail(413, chunks_.detail());
    case ChunkedBody::Outcome::kWhole:
      break;
  }
  return Outcome::kRequest;
}

bool HttpReader::ReadTarget(std::string_view target) {
  // absolute-form: what proxies send.
  if (StartsWithIgnoringCase(target, "http://") || StartsWithIgnoringCase(target, "https://")) {
    const std::size_t authority = target.find("//") + 2;
    const std::size_t path = target.find_first_of("/?", authority);
    if (path == authority || authority == target.size()) return false;
    target = path == std::string_view::npos ? std::string_view("/") : target.substr(path);
    if (target.starts_with('?')) return false;
  }
  if (target == "*" && request_.method == Method::kOptions) target = "/";
  if (!target.starts_with('/') || target.find('#') != std::string_view::npos) return false;
  const std::size_t mark = target.find('?');
  request_.path = target.substr(0, mark);
  if (mark != std::string_view::npos) request_.query = target.substr(mark + 1);
  return true;
}

}  // namespace keymill::wire
