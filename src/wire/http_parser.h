// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Beast's grammar of a request's header with our own callbacks: fields that matter are kept
// as views, everything else is checked and dropped. Used by HttpReader only.

#pragma once

#include <cstdint>
#include <string_view>

#include <boost/beast/http/basic_parser.hpp>

#include "wire/http_request.h"

namespace keymill::wire {

class RequestParser : public boost::beast::http::basic_parser<true> {
 public:
  // Both references and the input outlive the parser.
  RequestParser(const HttpLimits& limits, std::string_view input, HttpRequest& request);

  // What became of the header. After anything but kWhole, `request` is half filled in.
  enum class Outcome : std::uint8_t { kWhole, kNeedMore, kRefused };
  Outcome Parse();

  struct Failure {
    int status = 0;
    std::string_view detail;
  };
  // Why the input was refused.
  [[nodiscard]] const Failure& failure() const { return failure_; }
  [[nodiscard]] std::string_view target() const { return target_; }
  [[nodiscard]] std::uint64_t declared_size() const { return content_length_; }
  [[nodiscard]] bool expects_continue() const { return expects_continue_; }

 private:
  using Error = boost::system::error_code;
  using View = boost::beast::string_view;
  using Field = boost::beast::http::field;

  void on_request_impl(boost::beast::http::verb verb, View method, View target, int version,
                       Error& code) override;
  void on_field_impl(Field field, View name, View value, Error& code) override;
  void on_header_impl(Error& code) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, Error& code) override;
  std::size_t on_body_impl(View body, Error& code) override;
  void on_chunk_header_impl(std::uint64_t size, View extensions, Error& code) override;
  std::size_t on_chunk_body_impl(std::uint64_t remain, View body, Error& code) override;
  void on_finish_impl(Error& code) override;
  void on_response_impl(int status, View reason, int version, Error& code) override;

  void Classify(const Error& code);
  // Whether the field of this name goes on in another line.
  [[nodiscard]] bool IsFolded(std::string_view name) const;
  void Refuse(int status, std::string_view detail, Error& code);
  void OnTransferEncoding(std::string_view value, Error& code);
  void OnHost(std::string_view value, Error& code);
  void OnContentLength(std::string_view value, Error& code);
  // A field that Beast has no name for.
  void OnOther(std::string_view name, std::string_view value, Error& code);

  const HttpLimits& limits_;
  const std::string_view input_;
  HttpRequest& request_;
  std::string_view target_;
  Failure failure_;
  std::size_t fields_ = 0;
  std::uint64_t content_length_ = 0;
  bool version_11_ = false;
  bool has_host_ = false;
  bool has_length_ = false;
  bool has_encoding_ = false;
  bool expects_continue_ = false;
};

}  // namespace keymill::wire
