// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/http_parser.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>

namespace keymill::wire {
namespace {

namespace http = boost::beast::http;

// Longer ones do not fit 64 bits, or pad the number with zeros.
constexpr std::size_t kLengthDigitsMax = 19;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return boost::beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

Method ToMethod(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::kGet;
    case http::verb::head:
      return Method::kHead;
    case http::verb::post:
      return Method::kPost;
    case http::verb::put:
      return Method::kPut;
    case http::verb::delete_:
      return Method::kDelete;
    case http::verb::options:
      return Method::kOptions;
    default:
      return Method::kOther;
  }
}

bool IsHostSymbol(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~:[]%!$&'()*+,;=").find(c) != std::string_view::npos;
}

// Whether the first line's third word is a well-formed HTTP version that is not ours.
bool NamesOtherVersion(std::string_view input) {
  const std::string_view line = input.substr(0, input.find("\r\n"));
  const std::size_t at = line.find(" HTTP/");
  if (at == std::string_view::npos || at != line.find(' ', line.find(' ') + 1)) return false;
  const std::string_view version = line.substr(at + 6);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return version.size() == 3 && digit(version[0]) && version[1] == '.' && digit(version[2]) &&
         version != "1.0" && version != "1.1" && version != "0.9";
}

}  // namespace

RequestParser::RequestParser(const HttpLimits& limits, std::string_view input, HttpRequest& request)
    : limits_(limits), input_(input), request_(request) {
  // Sizes are HttpReader's business.
  header_limit(std::numeric_limits<std::uint32_t>::max());
  body_limit(boost::none);
}

RequestParser::Outcome RequestParser::Parse() {
  Error code;
  put(boost::asio::const_buffer(input_.data(), input_.size()), code);
  if (code == http::error::need_more) return Outcome::kNeedMore;
  if (code) {
    Classify(code);
    return Outcome::kRefused;
  }
  return Outcome::kWhole;
}

void RequestParser::Classify(const Error& code) {
  if (failure_.status != 0) return;  // One of our own rules was broken.
  if (code == http::error::bad_version && NamesOtherVersion(input_)) {
    failure_ = {505, "this server speaks HTTP/1.1 and HTTP/1.0"};
  } else {
    failure_ = {400, "this is no well-formed HTTP request"};
  }
}

void RequestParser::Refuse(int status, std::string_view detail, Error& code) {
  failure_ = {status, detail};
  code = http::error::bad_value;
}

void RequestParser::on_request_impl(http::verb verb, View /*method*/, View target, int version,
                                    Error& code) {
  target_ = wire::View(target);
  version_11_ = version >= 11;
  request_.http10 = !version_11_;
  if (verb == http::verb::unknown) return Refuse(501, "this method does not exist here", code);
  request_.method = ToMethod(verb);
}

void RequestParser::on_field_impl(Field field, View name, View raw_value, Error& code) {
  const std::string_view value = wire::View(raw_value);
  if (IsFolded(wire::View(name))) {
    return Refuse(400, "folded header lines are not accepted", code);
  }
  if (++fields_ > limits_.fields) return Refuse(431, "too many header fields", code);
  switch (field) {
    case Field::host:
      return OnHost(value, code);
    case Field::content_length:
      return OnContentLength(value, code);
    case Field::transfer_encoding:
      return OnTransferEncoding(value, code);
    case Field::accept:
      request_.accept = value;
      return;
    case Field::content_type:
      request_.content_type = value;
      return;
    case Field::expect:
      if (!EqualsIgnoringCase(value, "100-continue")) {
        return Refuse(417, "only 100-continue can be expected", code);
      }
      expects_continue_ = version_11_;  // HTTP/1.0 knows no interim answers.
      return;
    case Field::origin:
      if (!request_.origin.empty()) return Refuse(400, "more than one Origin field", code);
      request_.origin = value;
      return;
    case Field::sec_fetch_site:
      request_.sec_fetch_site = value;
      return;
    case Field::if_match:
      if (request_.if_match) return Refuse(400, "more than one If-Match field", code);
      request_.if_match = value;
      return;
    case Field::if_none_match:
      request_.if_none_match = value;
      return;
    case Field::unknown:
      return OnOther(wire::View(name), value, code);
    default:
      return;
  }
}

void RequestParser::OnOther(std::string_view name, std::string_view value, Error& code) {
  if (!EqualsIgnoringCase(name, "Idempotency-Key")) return;
  if (request_.idempotency_key) {
    return Refuse(400, "more than one Idempotency-Key field", code);
  }
  request_.idempotency_key = value;
}

// Beast accepts obsolete line folding; what it makes of it need not be what others do.
bool RequestParser::IsFolded(std::string_view name) const {
  const std::size_t end = input_.find('\r', static_cast<std::size_t>(name.data() - input_.data()));
  if (end == std::string_view::npos || end + 2 >= input_.size()) return false;
  return input_[end + 2] == ' ' || input_[end + 2] == '\t';
}

void RequestParser::OnHost(std::string_view value, Error& code) {
  if (has_host_) return Refuse(400, "more than one Host field", code);
  has_host_ = true;
  if (!std::all_of(value.begin(), value.end(), IsHostSymbol)) {
    return Refuse(400, "the Host field is not a host", code);
  }
  request_.host = value;
}

void RequestParser::OnContentLength(std::string_view value, Error& code) {
  if (has_length_) return Refuse(400, "more than one Content-Length", code);
  has_length_ = true;
  const bool digits = !value.empty() && std::all_of(value.begin(), value.end(),
                                                    [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || value.size() > kLengthDigitsMax) {
    return Refuse(400, "Content-Length is not a number", code);
  }
  std::from_chars(value.data(), value.data() + value.size(), content_length_);
}

void RequestParser::OnTransferEncoding(std::string_view value, Error& code) {
  if (has_encoding_) return Refuse(400, "more than one Transfer-Encoding", code);
  has_encoding_ = true;
  if (!version_11_) return Refuse(400, "HTTP/1.0 has no Transfer-Encoding", code);
  if (EqualsIgnoringCase(value, "chunked")) return;
  const bool lists_chunked = value.find(',') != std::string_view::npos;
  if (lists_chunked || EqualsIgnoringCase(value, "identity")) {
    return Refuse(400, "Transfer-Encoding must be chunked", code);
  }
  Refuse(501, "this transfer coding is not known here", code);
}

void RequestParser::on_header_impl(Error& code) {
  if (version_11_ && !has_host_) return Refuse(400, "the Host field is missing", code);
}

// Parsing stops behind the header, so none of these is ever called with a body.
void RequestParser::on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                                      Error& /*code*/) {}
std::size_t RequestParser::on_body_impl(View /*body*/, Error& /*code*/) { return 0; }
void RequestParser::on_chunk_header_impl(std::uint64_t /*size*/, View /*extensions*/,
                                         Error& /*code*/) {}
std::size_t RequestParser::on_chunk_body_impl(std::uint64_t /*remain*/, View /*body*/,
                                              Error& /*code*/) {
  return 0;
}
void RequestParser::on_finish_impl(Error& /*code*/) {}
void RequestParser::on_response_impl(int /*status*/, View /*reason*/, int /*version*/,
                                     Error& /*code*/) {}

}  // namespace keymill::wire
