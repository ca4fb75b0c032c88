// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// An HTTP/1.1 request, read in place: every view points into the bytes that were given, and
// reading one allocates nothing (a chunked body excepted, which has to be put together).
// Views are good until the next call of Read or Release.
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

#include "wire/chunked_body.h"

namespace keymill::wire {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kDelete, kOptions, kOther };

struct HttpRequest;

struct HttpLimits {
  std::size_t request_line = 8 * 1024;
  std::size_t header = 32 * 1024;  // Request line included. As much again for trailers.
  std::size_t fields = 100;        // The same.
  std::size_t body = 64 * 1024;
  // Another limit for requests that need a larger body, by what their header says. Only asked when
  // `body` may not do.
  std::size_t (*body_of)(const HttpRequest& request) = nullptr;
};

struct HttpRequest {
  Method method = Method::kOther;
  std::string_view path;   // Still percent-encoded; begins with '/'.
  std::string_view query;  // Without '?'; still percent-encoded.
  bool keep_alive = false;
  bool http10 = false;
  std::string_view host;
  std::string_view accept;
  std::string_view content_type;
  std::string_view origin;          // Which site's page a browser sends this for.
  std::string_view sec_fetch_site;  // How a browser calls the relation of that site to us.
  std::optional<std::string_view> idempotency_key = {};  // What a repeated request is known by.
  std::optional<std::string_view> if_match = {};
  std::string_view if_none_match;  // What the sender has of it already, by ETag.
  std::string_view body;
};

// Why bytes are no request: the status to answer with, and a sentence for the sender. The
// connection must be closed after that answer, because where the next request would begin
// is unknown.
struct HttpError {
  int status = 400;
  std::string_view detail;
};

// Empty lines before a request are skipped (RFC 9112, 2.2), but not for ever.
inline constexpr std::size_t kEmptyLinesMax = 4;

// How many bytes of `input` are empty lines that belong to no request.
std::size_t EmptyLines(std::string_view input);

class HttpReader {
 public:
  explicit HttpReader(HttpLimits limits = {})
      : limits_(limits), chunks_(limits.body, {.size = limits.header, .fields = limits.fields}) {}

  enum class Outcome : std::uint8_t {
    kRequest,   // `request` is whole; `consumed` bytes belong to it.
    kNeedMore,  // Call again with the same bytes and more behind them.
    kError,     // `error` says why.
  };

  // Reads the request at the beginning of `input`, behind empty lines. What comes of it does not
  // depend on how the bytes were split over the calls, and neither, but for a small factor, does
  // the work.
  Outcome Read(std::string_view input);

  [[nodiscard]] const HttpRequest& request() const { return request_; }
  [[nodiscard]] std::size_t consumed() const { return consumed_; }
  [[nodiscard]] const HttpError& error() const { return error_; }

  // How many times the last request follows at the beginning of `input`, byte for byte: whatever
  // was made of it holds for these too. Counts up to `max`; always 0 behind a request with a
  // body, and in the middle of one.
  [[nodiscard]] std::size_t CountRepeats(std::string_view input, std::size_t max) const;
  // The size of the request that CountRepeats counts.
  [[nodiscard]] std::size_t repeat_size() const { return remembered_.size(); }

  // The last request was dealt with: ends its views and frees what was put together for it.
  void Release() { chunks_.Clear(); }

  // After kNeedMore: the sender waits for "100 Continue" before it sends the body. True
  // once per request.
  bool TakeExpectation();

  // Bytes that the header's grammar was applied to so far, for tests of the cost.
  [[nodiscard]] std::uint64_t bytes_parsed() const { return bytes_parsed_; }

 private:
  // From the request's first byte on.
  Outcome ReadRequest(std::string_view input);
  // kRequest from these means: so far, so good.
  Outcome ReadHeader(std::string_view input);
  Outcome ReadBody(std::string_view input);
  // Looks for mistakes in a header of which only `head` has arrived.
  Outcome Inspect(std::string_view head);
  Outcome Parse(std::string_view header);
  // For a header that goes on behind `head` but must not: what is wrong with it, or else
  // `status`.
  Outcome Refuse(std::string_view head, int status, std::string_view detail);
  Outcome Fail(int status, std::string_view detail);
  bool ReadTarget(std::string_view target);
  void Restart();
  // How large the body of the present request may be.
  [[nodiscard]] std::size_t BodyMax() const {
    return limits_.body_of == nullptr ? limits_.body : limits_.body_of(request_);
  }
  [[nodiscard]] bool untouched() const { return header_size_ == 0 && inspected_ == 0; }

  const HttpLimits limits_;
  HttpRequest request_;
  HttpError error_;
  std::size_t consumed_ = 0;
  std::uint64_t bytes_parsed_ = 0;

  // What earlier calls learnt of the present request.
  std::size_t inspected_ = 0;    // Bytes of an incomplete header that were looked at.
  std::size_t header_size_ = 0;  // 0 until the header is whole.
  bool line_parsed_ = false;     // The request line was found to be good.
  bool chunked_ = false;
  std::size_t content_length_ = 0;
  ChunkedBody chunks_;
  bool expectation_ = false;

  std::string remembered_;  // The last request; empty when it cannot be repeated.
};

}  // namespace keymill::wire
