// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// An HTTP/1.1 request, read in place: every view points into the bytes that were given, and
// reading one allocates nothing (a chunked body excepted, which has to be put together).
//
// Boost.Beast's parser does the grammar; this file adds the strictness that a server behind
// other people's proxies needs: whatever two readers could understand differently is an
// error, so that nobody can smuggle a request past the one that looks first.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keymill::wire {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kDelete, kOptions, kOther };

struct HttpLimits {
  std::size_t request_line = 8 * 1024;
  std::size_t header = 32 * 1024;  // Request line included.
  std::size_t fields = 100;
  std::size_t body = 64 * 1024;
};

struct HttpRequest {
  Method method = Method::kOther;
  std::string_view path;   // Still percent-encoded; begins with '/'.
  std::string_view query;  // Without '?'; still percent-encoded.
  bool has_query = false;
  bool keep_alive = false;
  bool http10 = false;
  std::string_view accept;
  std::string_view content_type;
  std::string_view body;
};

// Why bytes are no request: the status to answer with, and a sentence for the sender. The
// connection must be closed after that answer, because where the next request would begin
// is unknown.
struct HttpError {
  int status = 400;
  std::string_view detail;
};

class HttpReader {
 public:
  explicit HttpReader(HttpLimits limits = {}) : limits_(limits) {}

  enum class Outcome : std::uint8_t {
    kRequest,   // `request` is whole; `consumed` bytes belong to it.
    kNeedMore,  // Call again with the same bytes and more behind them.
    kError,     // `error` says why.
  };

  // Reads the request at the beginning of `input`.
  Outcome Read(std::string_view input);

  [[nodiscard]] const HttpRequest& request() const { return request_; }
  [[nodiscard]] std::size_t consumed() const { return consumed_; }
  [[nodiscard]] const HttpError& error() const { return error_; }

  // After kNeedMore: the sender waits for "100 Continue" before it sends the body. True
  // once per request.
  bool TakeExpectation();

  // Whether a whole header was seen by the last kNeedMore: the rest is body.
  [[nodiscard]] bool in_body() const { return body_from_ != 0; }

 private:
  class Parser;

  Outcome ReadFresh(std::string_view input);
  Outcome NeedMore(std::string_view input, const Parser& parser);
  Outcome Fail(int status, std::string_view detail);
  Outcome Finish(std::string_view input, const Parser& parser, std::size_t consumed);
  bool ReadTarget(std::string_view target);

  const HttpLimits limits_;
  HttpRequest request_;
  HttpError error_;
  std::size_t consumed_ = 0;
  std::string chunks_;  // A chunked body, put together.

  // What the last kNeedMore learnt, so that a slow sender does not make us read the same
  // bytes again for each new one.
  std::size_t seen_ = 0;       // Bytes that were there.
  std::size_t body_from_ = 0;  // Where the body begins; 0 while the header is incomplete.
  std::size_t wanted_ = 0;     // With a Content-Length: bytes of the whole request.
  bool expectation_ = false;
  bool expectation_taken_ = false;
};

}  // namespace keymill::wire
