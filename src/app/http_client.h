// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::app {

struct HttpMint {
  std::string url;  // http://HOST[:PORT]
  std::string keyspace;
  std::uint64_t count = 1;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds idle_timeout{30'000};  // Without a byte from the server.
};

// Asks a server for keys and hands on its lines, whole ones only, as they come; `sink`
// returns false when it wants no more. What the sink got is issued, whatever is returned.
// Errors:
//   kInvalidArgument  the URL is none.
//   kUnavailable      the server cannot be reached, was silent for too long, broke off in the
//                     middle, or sent fewer keys ("got 679 of 1500 keys: …").
//   others            what the server said, in its own words.
Status MintOverHttp(const HttpMint& ask, const std::function<bool(std::string_view)>& sink);

struct HttpGet {
  std::string url;                           // http://HOST[:PORT]
  std::string path;                          // "/readyz"
  std::chrono::milliseconds timeout{2'000};  // For all of it.
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// Errors:
//   kInvalidArgument  the URL is none.
//   kUnavailable      there was no answer in time, or one that is no HTTP.
Result<HttpAnswer> GetOverHttp(const HttpGet& ask);

// Why a server said no, in its own words, with the code that fits `status`.
Status ServerSaid(int status, const std::string& body);

// `text` as one segment of a path.
std::string PathSegment(std::string_view text);

struct HttpCall {
  std::string method;  // "PUT"
  std::string path;
  std::string body = {};  // JSON, or "".
};

// Calls of one server, one after another, over one connection for as long as it lasts.
class HttpCaller {
 public:
  explicit HttpCaller(std::string url,
                      std::chrono::milliseconds timeout = std::chrono::milliseconds(30'000));
  ~HttpCaller();
  HttpCaller(const HttpCaller&) = delete;
  HttpCaller& operator=(const HttpCaller&) = delete;

  // A call whose connection the server has closed meanwhile is made again, once: it must do no
  // harm when it is made twice.
  // Errors: as GetOverHttp's.
  Result<HttpAnswer> Call(const HttpCall& call);

 private:
  class Connection;
  const std::string url_;
  const std::chrono::milliseconds timeout_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace keymill::app
