// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/http_request.h"

#include <algorithm>

#include <boost/beast/http/basic_parser.hpp>

#include "base/check.h"
#include "wire/http_parser.h"

namespace keymill::wire {
namespace {

constexpr std::string_view kEndOfHeader = "\r\n\r\n";

// Whether the first line ends in a well-formed HTTP version that is not ours.
bool NamesOtherVersion(std::string_view input) {
  const std::string_view line = input.substr(0, input.find("\r\n"));
  const std::size_t at = line.rfind(" HTTP/");
  if (at == std::string_view::npos) return false;
  const std::string_view version = line.substr(at + 6);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return version.size() == 3 && digit(version[0]) && version[1] == '.' && digit(version[2]) &&
         version != "1.0" && version != "1.1" && version != "0.9";
}

}  // namespace

class HttpReader::Parser : public RequestParser {
 public:
  using RequestParser::RequestParser;
};

HttpReader::Outcome HttpReader::Read(std::string_view input) {
  if (seen_ == 0) return ReadFresh(input);
  // More bytes of a request that was incomplete: parse it again only when it can be whole.
  const std::size_t from = seen_;
  bool worth_it = true;
  if (wanted_ != 0) {
    worth_it = input.size() >= wanted_;
  } else {
    const std::size_t look_from = std::max(body_from_, from - std::min<std::size_t>(from, 3));
    worth_it = input.find(kEndOfHeader, look_from) != std::string_view::npos ||
               (from <= limits_.request_line && input.size() > limits_.request_line) ||
               input.size() > (body_from_ == 0 ? limits_.header : body_from_ + 2 * limits_.body);
  }
  if (worth_it) return ReadFresh(input);
  seen_ = input.size();
  return Outcome::kNeedMore;
}

bool HttpReader::TakeExpectation() {
  if (!expectation_ || expectation_taken_) return false;
  expectation_taken_ = true;
  return true;
}

HttpReader::Outcome HttpReader::Fail(int status, std::string_view detail) {
  error_ = {status, detail};
  return Outcome::kError;
}

HttpReader::Outcome HttpReader::ReadFresh(std::string_view input) {
  namespace http = boost::beast::http;
  request_ = {};
  chunks_.clear();
  Parser parser(limits_, input, request_, chunks_);
  boost::system::error_code code;
  std::size_t consumed = 0;
  while (consumed < input.size() && !parser.is_done()) {
    consumed += parser.put(
        boost::asio::const_buffer(input.data() + consumed, input.size() - consumed), code);
    if (code) break;
  }
  if (code && code != http::error::need_more) {
    if (parser.failure().status != 0) return Fail(parser.failure().status, parser.failure().detail);
    if (code == http::error::body_limit) return Fail(413, "the body is too large");
    if (code == http::error::header_limit) {
      return input.find("\r\n") > limits_.request_line ? Fail(414, "the request line is too long")
                                                       : Fail(431, "the header is too large");
    }
    if (code == http::error::bad_version && NamesOtherVersion(input)) {
      return Fail(505, "this server speaks HTTP/1.1 and HTTP/1.0");
    }
    return Fail(400, "this is no well-formed HTTP request");
  }
  if (!parser.is_done()) return NeedMore(input, parser);
  return Finish(input, parser, consumed);
}

HttpReader::Outcome HttpReader::NeedMore(std::string_view input, const Parser& parser) {
  seen_ = input.size();
  if (!parser.is_header_done()) {
    if (input.substr(0, limits_.request_line + 2).find("\r\n") == std::string_view::npos &&
        input.size() > limits_.request_line) {
      return Fail(414, "the request line is too long");
    }
    if (input.size() > limits_.header) return Fail(431, "the header is too large");
    return Outcome::kNeedMore;
  }
  if (body_from_ == 0) body_from_ = input.find(kEndOfHeader) + kEndOfHeader.size();
  const auto length = parser.content_length();
  if (length) wanted_ = body_from_ + static_cast<std::size_t>(*length);
  // Chunk headers, extensions and trailers count too: nobody needs more of them than body.
  if (input.size() > body_from_ + 2 * limits_.body) return Fail(413, "the body is too large");
  expectation_ = parser.expects_continue();
  return Outcome::kNeedMore;
}

HttpReader::Outcome HttpReader::Finish(std::string_view input, const Parser& parser,
                                       std::size_t consumed) {
  KEYMILL_CHECK(consumed <= input.size());
  if (!ReadTarget(parser.target())) {
    return Fail(400, "the request target is neither a path nor a URL");
  }
  request_.keep_alive = parser.keep_alive();
  if (parser.chunked()) request_.body = chunks_;
  consumed_ = consumed;
  seen_ = body_from_ = wanted_ = 0;
  expectation_ = expectation_taken_ = false;
  return Outcome::kRequest;
}

bool HttpReader::ReadTarget(std::string_view target) {
  // absolute-form: what proxies send.
  if (target.starts_with("http://") || target.starts_with("https://")) {
    const std::size_t authority = target.find("//") + 2;
    const std::size_t path = target.find_first_of("/?", authority);
    if (path == authority) return false;
    target = path == std::string_view::npos ? std::string_view("/") : target.substr(path);
    if (target.starts_with('?')) return false;
  }
  if (target == "*" && request_.method == Method::kOptions) target = "/";
  if (!target.starts_with('/')) return false;
  const std::size_t mark = target.find('?');
  request_.path = target.substr(0, mark);
  request_.has_query = mark != std::string_view::npos;
  if (request_.has_query) request_.query = target.substr(mark + 1);
  return true;
}

}  // namespace keymill::wire
