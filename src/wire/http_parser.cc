// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/http_parser.h"

#include <algorithm>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>

namespace keymill::wire {
namespace {

namespace http = boost::beast::http;

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

}  // namespace

RequestParser::RequestParser(const HttpLimits& limits, std::string_view input, HttpRequest& request,
                             std::string& chunks)
    : limits_(limits), input_(input), request_(request), chunks_(chunks) {
  header_limit(static_cast<std::uint32_t>(limits.header));
  body_limit(limits.body);
  eager(true);
}

void RequestParser::Refuse(int status, std::string_view detail, Error& code) {
  failure_ = {status, detail};
  code = http::error::bad_value;
}

void RequestParser::on_request_impl(http::verb verb, View method, View target, int version,
                                    Error& code) {
  target_ = wire::View(target);
  version_11_ = version >= 11;
  request_.http10 = !version_11_;
  if (method.size() + target.size() >
      limits_.request_line - std::string_view("  HTTP/1.1").size()) {
    return Refuse(414, "the request line is too long", code);
  }
  if (verb == http::verb::unknown) return Refuse(501, "this method does not exist here", code);
  request_.method = ToMethod(verb);
}

void RequestParser::on_field_impl(Field field, View /*name*/, View raw_value, Error& code) {
  const std::string_view value = wire::View(raw_value);
  if (++fields_ > limits_.fields) return Refuse(431, "too many header fields", code);
  // Beast unfolds obsolete line folding into a buffer of its own.
  const bool in_place = value.empty() || (value.data() >= input_.data() &&
                                          value.data() < input_.data() + input_.size());
  if (!in_place) return Refuse(400, "folded header lines are not accepted", code);
  if (in_trailer_) return;
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
      expects_continue_ = true;
      return;
    default:
      return;
  }
}

void RequestParser::OnHost(std::string_view value, Error& code) {
  if (has_host_) return Refuse(400, "more than one Host field", code);
  has_host_ = true;
  if (!std::all_of(value.begin(), value.end(), IsHostSymbol)) {
    return Refuse(400, "the Host field is not a host", code);
  }
}

void RequestParser::OnContentLength(std::string_view value, Error& code) {
  if (has_length_) return Refuse(400, "more than one Content-Length", code);
  has_length_ = true;
  const bool digits = !value.empty() && std::all_of(value.begin(), value.end(),
                                                    [](char c) { return c >= '0' && c <= '9'; });
  // "Content-Length:  5" is legal, but no honest sender writes it.
  const bool padded =
      value.data() - input_.data() >= 2 && value.data()[-1] == ' ' && value.data()[-2] != ':';
  if (!digits || padded) return Refuse(400, "Content-Length is not a number", code);
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
  in_trailer_ = true;
  if (version_11_ && !has_host_) return Refuse(400, "the Host field is missing", code);
}

void RequestParser::on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                                      Error& /*code*/) {}

std::size_t RequestParser::on_body_impl(View body, Error& /*code*/) {
  // Pieces of one request lie behind one another in the input.
  const std::string_view piece = wire::View(body);
  request_.body = request_.body.empty()
                      ? piece
                      : std::string_view(request_.body.data(), request_.body.size() + piece.size());
  return piece.size();
}

void RequestParser::on_chunk_header_impl(std::uint64_t /*size*/, View extensions, Error& code) {
  if (!extensions.empty()) Refuse(400, "chunk extensions are not accepted", code);
}

std::size_t RequestParser::on_chunk_body_impl(std::uint64_t /*remain*/, View body,
                                              Error& /*code*/) {
  chunks_.append(body.data(), body.size());
  return body.size();
}

void RequestParser::on_finish_impl(Error& /*code*/) {}

void RequestParser::on_response_impl(int /*status*/, View /*reason*/, int /*version*/,
                                     Error& /*code*/) {}

}  // namespace keymill::wire
