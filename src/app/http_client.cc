// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/http_client.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/config/duration.h"
#include "app/config/quote.h"

namespace keymill::app {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Error = boost::system::error_code;

struct Url {
  std::string host;
  std::string port = "80";
};

// A server may be anything: what it sends is limited.
constexpr std::size_t kProblemMax = 64 * 1024;
constexpr std::size_t kSaidMax = 1000;
constexpr std::size_t kLineMax = 64 * 1024;

// `where` is what the user wrote it behind.
Result<Url> ParseUrl(std::string_view text, std::string_view where) {
  constexpr std::string_view kScheme = "http://";
  const Status bad(Code::kInvalidArgument,
                   fmt::format("{} \"{}\": use http://HOST:PORT", where, text));
  if (!text.starts_with(kScheme)) return bad;
  text.remove_prefix(kScheme.size());
  while (text.ends_with('/')) text.remove_suffix(1);
  if (text.empty() || text.find('/') != std::string_view::npos) return bad;
  Url url;
  const std::size_t colon = text.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos;
  url.host = text.substr(0, has_port ? colon : text.size());
  if (has_port) url.port = text.substr(colon + 1);
  if (url.host.starts_with('[') && url.host.ends_with(']')) {
    url.host = url.host.substr(1, url.host.size() - 2);
  }
  if (url.host.empty() || url.port.empty()) return bad;
  return url;
}

// What it means to whoever asked. Most of what is not listed here comes from something between us
// and the server.
Code CodeOf(int status) {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return Code::kInvalidArgument;
    case 404:
      return Code::kNotFound;
    case 409:
    case 410:
      return Code::kFailedPrecondition;
    case 507:
      return Code::kExhausted;
    default:
      return Code::kUnavailable;
  }
}

// Runs one asynchronous step, which gets the handler to call, to its end: Beast heeds its
// timeouts in asynchronous calls only.
template <typename Start>
Error RunStep(asio::io_context& context, const Start& start) {
  Error result;
  context.restart();
  start([&](const Error& error, auto&&... /*what was done*/) { result = error; });
  context.run();
  return result;
}

// Hands on whole lines only: a stream that is cut may end in the middle of a key, which
// would look like another one.
class LineSink {
 public:
  LineSink(std::uint64_t lines_max, const std::function<bool(std::string_view)>& sink)
      : lines_max_(lines_max), sink_(sink) {}

  // False when whoever takes the lines wants no more, or what came is not what was asked for.
  bool Add(std::string_view piece) {
    const std::size_t end = piece.rfind('\n') + 1;  // 0 when there is none.
    if (end == 0) {
      rest_ += piece;
      return Check(rest_.size() <= kLineMax, "a line that is no key");
    }
    rest_ += piece.substr(0, end);
    lines_ += static_cast<std::uint64_t>(std::count(rest_.begin(), rest_.end(), '\n'));
    if (!Check(lines_ <= lines_max_, "more keys than were asked for")) return false;
    const bool more = sink_(rest_);
    rest_ = piece.substr(end);
    return more;
  }

  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  [[nodiscard]] const Status& complaint() const { return complaint_; }

 private:
  bool Check(bool fine, std::string_view what) {
    if (!fine) complaint_ = {Code::kUnavailable, fmt::format("the server sent {}", what)};
    return fine;
  }

  const std::uint64_t lines_max_;
  const std::function<bool(std::string_view)>& sink_;
  Status complaint_;
  std::string rest_;
  std::uint64_t lines_ = 0;
};

class MintCall {
 public:
  MintCall(const HttpMint& ask, LineSink& sink) : ask_(ask), sink_(sink) {}

  Status Run(const Url& url) {
    if (Status connected = Connect(url); !connected.ok()) return connected;
    http::request<http::empty_body> request(
        http::verb::post, fmt::format("/v1/keyspaces/{}/keys?count={}", ask_.keyspace, ask_.count),
        11);
    request.set(http::field::host, url.host);
    request.set(http::field::accept, "text/plain");
    request.set(http::field::content_length, "0");
    Error error = Step([&](auto done) { http::async_write(stream_, request, done); });
    if (error) return Failed("ask", error, ask_.idle_timeout);
    error = Step([&](auto done) { http::async_read_header(stream_, buffer_, parser_, done); });
    if (error) return Failed("read from", error, ask_.idle_timeout);
    return ReadBody();
  }

 private:
  template <typename Start>
  Error Step(const Start& start) {
    stream_.expires_after(ask_.idle_timeout);
    return RunStep(context_, start);
  }

  Status Failed(std::string_view what, const Error& error,
                std::chrono::milliseconds timeout) const {
    const std::string said = error == boost::beast::error::timeout
                                 ? fmt::format("nothing happened for {}", DurationText(timeout))
                                 : error.message();
    return {Code::kUnavailable, fmt::format("{} {}: {}", what, ask_.url, said)};
  }

  Status Connect(const Url& url) {
    Error error;
    asio::ip::tcp::resolver resolver(context_);
    const auto endpoints = resolver.resolve(url.host, url.port, error);
    if (error) return Failed("find", error, ask_.connect_timeout);
    stream_.expires_after(ask_.connect_timeout);
    error = RunStep(context_, [&](auto done) { stream_.async_connect(endpoints, done); });
    return error ? Failed("connect to", error, ask_.connect_timeout) : Status();
  }

  Status ReadBody() {
    parser_.body_limit(boost::none);
    const auto status = static_cast<int>(parser_.get().result_int());
    std::string problem;
    std::array<char, 64 * 1024> piece{};
    while (!parser_.is_done()) {
      parser_.get().body().data = piece.data();
      parser_.get().body().size = piece.size();
      Error error =
          Step([&](auto done) { http::async_read_some(stream_, buffer_, parser_, done); });
      if (error == http::error::need_buffer) error = {};
      const std::string_view got(piece.data(), piece.size() - parser_.get().body().size);
      if (status != 200) {
        problem += got;
        if (problem.size() > kProblemMax) return ServerSaid(status, problem);
      } else if (!sink_.Add(got)) {
        return sink_.complaint();
      }
      if (error) return Failed("read from", error, ask_.idle_timeout);
    }
    return status == 200 ? Status() : ServerSaid(status, problem);
  }

  const HttpMint& ask_;
  LineSink& sink_;
  asio::io_context context_;
  boost::beast::tcp_stream stream_{context_};
  boost::beast::flat_buffer buffer_;
  http::response_parser<http::buffer_body> parser_;
};

}  // namespace

Status ServerSaid(int status, const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  const auto detail = json.is_object() ? json.find("detail") : json.end();
  const bool told = json.is_object() && detail != json.end() && detail->is_string();
  return {CodeOf(status),
          fmt::format("the server said {}: {}", status,
                      Printable(told ? detail->get_ref<const std::string&>() : body, kSaidMax))};
}

Status MintOverHttp(const HttpMint& ask, const std::function<bool(std::string_view)>& sink) {
  Result<Url> url = ParseUrl(ask.url, "--server");
  if (!url.ok()) return url.status();
  bool wanted = true;
  const std::function<bool(std::string_view)> watched = [&](std::string_view lines) {
    return wanted = sink(lines);
  };
  LineSink lines(ask.count, watched);
  Status done = MintCall(ask, lines).Run(*url);
  if (done.ok() && wanted && lines.lines() < ask.count) {
    done = Status(Code::kUnavailable, "the server sent no more");
  } else if (done.ok() || lines.lines() == 0) {
    return done;
  }
  return {done.code(),
          fmt::format("got {} of {} keys: {}", lines.lines(), ask.count, done.message())};
}

// A connection, and what one call does over it.
class HttpCaller::Connection {
 public:
  Connection(std::string_view where, std::chrono::milliseconds timeout)
      : where_(where), timeout_(timeout) {}

  Status Connect(const Url& url) {
    host_ = url.host;
    Error error;
    const auto endpoints = asio::ip::tcp::resolver(context_).resolve(url.host, url.port, error);
    if (error) return Failed("find", error);
    stream_.expires_after(timeout_);
    error = RunStep(context_, [&](auto done) { stream_.async_connect(endpoints, done); });
    return error ? Failed("connect to", error) : Status();
  }

  // `stale`: the server has closed it, perhaps long ago.
  Result<HttpAnswer> Call(const HttpCall& call, bool& stale) {
    stream_.expires_after(timeout_);  // One for all steps: whoever asks has one as well.
    http::request<http::string_body> request(http::verb::unknown, call.path, 11);
    request.method_string(call.method);
    request.set(http::field::host, host_);
    if (!call.body.empty()) request.set(http::field::content_type, "application/json");
    if (call.method != "GET") {
      request.body() = call.body;
      request.prepare_payload();
    }
    Error error = RunStep(context_, [&](auto done) { http::async_write(stream_, request, done); });
    stale = IsStale(error);
    if (error) return Failed("ask", error);
    constexpr std::uint64_t kBodyMax = 64 * 1024;
    http::response_parser<http::string_body> parser;
    parser.body_limit(kBodyMax);
    error = RunStep(context_, [&](auto done) { http::async_read(stream_, buffer_, parser, done); });
    stale = IsStale(error);
    if (error) return Failed("read from", error);
    last_ = !parser.get().keep_alive();
    return HttpAnswer{static_cast<int>(parser.get().result_int()), parser.get().body()};
  }

  // Whether the server wants no further call.
  [[nodiscard]] bool last() const { return last_; }

 private:
  static bool IsStale(const Error& error) {
    return error == http::error::end_of_stream || error == asio::error::connection_reset ||
           error == asio::error::broken_pipe;
  }

  [[nodiscard]] Status Failed(std::string_view what, const Error& error) const {
    const std::string said = error == boost::beast::error::timeout
                                 ? fmt::format("no answer within {}", DurationText(timeout_))
                                 : error.message();
    return {Code::kUnavailable, fmt::format("{} {}: {}", what, where_, said)};
  }

  const std::string where_;
  const std::chrono::milliseconds timeout_;
  std::string host_;
  asio::io_context context_;
  boost::beast::tcp_stream stream_{context_};
  boost::beast::flat_buffer buffer_;
  bool last_ = false;
};

HttpCaller::HttpCaller(std::string url, std::chrono::milliseconds timeout)
    : url_(std::move(url)), timeout_(timeout) {}

HttpCaller::~HttpCaller() = default;

Result<HttpAnswer> HttpCaller::Call(const HttpCall& call) {
  const Result<Url> url = ParseUrl(url_, "--server");
  if (!url.ok()) return url.status();
  bool stale = false;
  if (connection_ != nullptr) {
    Result<HttpAnswer> answer = connection_->Call(call, stale);
    if (!answer.ok() || connection_->last()) connection_.reset();
    if (!stale) return answer;
  }
  connection_ = std::make_unique<Connection>(url_, timeout_);
  Status connected = connection_->Connect(*url);
  Result<HttpAnswer> answer = connected.ok() ? connection_->Call(call, stale) : connected;
  if (!answer.ok() || connection_->last()) connection_.reset();
  return answer;
}

Result<HttpAnswer> GetOverHttp(const HttpGet& ask) {
  Result<Url> url = ParseUrl(ask.url, "URL");
  if (!url.ok()) return url.status();
  HttpCaller caller(ask.url, ask.timeout);
  return caller.Call({.method = "GET", .path = ask.path});
}

std::string PathSegment(std::string_view text) {
  constexpr std::string_view kPlain = "-._~";
  std::string segment;
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos;
    segment += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return segment;
}

}  // namespace keymill::app
