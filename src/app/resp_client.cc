// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/resp_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <fmt/format.h>

#include "app/config/duration.h"
#include "app/config/quote.h"
#include "wire/resp.h"

namespace keymill::app {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;

struct Place {
  std::string host;
  std::string port = "6380";
};

constexpr std::string_view kScheme = "redis://";
constexpr std::size_t kSaidMax = 1000;
constexpr std::uint64_t kKeysAtOnce = 10'000;  // As many as the server gives.

Result<Place> ReadUrl(std::string_view url) {
  const Status bad(Code::kInvalidArgument,
                   fmt::format("--server \"{}\": use redis://HOST:PORT", url));
  std::string_view text = url.substr(kScheme.size());
  if (text.ends_with('/')) text.remove_suffix(1);
  if (text.find_first_of("/@?# ") != std::string_view::npos) return bad;
  Place place;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
    place.port = text.substr(colon + 1);
    std::uint16_t number = 0;
    const char* const end = place.port.data() + place.port.size();
    const auto parsed = std::from_chars(place.port.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || number == 0) return bad;
    text = text.substr(0, colon);
  }
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  if (text.empty()) return bad;
  place.host = text;
  return place;
}

// A connection on which one command is answered at a time.
class Link {
 public:
  Link(std::string_view url, std::chrono::milliseconds idle_timeout)
      : url_(url), idle_timeout_(idle_timeout) {}

  Status Connect(const Place& place, std::chrono::milliseconds timeout) {
    Error error;
    asio::ip::tcp::resolver resolver(context_);
    const auto found = resolver.resolve(place.host, place.port, error);
    if (error) return Failed("connect to", error, timeout);
    error = Step(timeout, [&](auto done) { stream_.async_connect(found, done); });
    return error ? Failed("connect to", error, timeout) : Status();
  }

  Result<wire::RespValue> Ask(std::string_view command) {
    Error error = Step(idle_timeout_, [&](auto done) {
      asio::async_write(stream_, asio::buffer(command.data(), command.size()), done);
    });
    if (error) return Failed("ask", error, idle_timeout_);
    wire::RespReader reader;
    std::array<char, 64 * 1024> buffer;
    for (;;) {
      std::size_t size = 0;
      error = Step(idle_timeout_, [&](auto done) {
        stream_.async_read_some(asio::buffer(buffer),
                                [&size, done](const Error& why, std::size_t got) mutable {
                                  size = got;
                                  done(why);
                                });
      });
      if (error) return Failed("read from", error, idle_timeout_);
      std::string_view bytes(buffer.data(), size);
      const auto outcome = reader.Read(bytes);
      if (outcome == wire::RespReader::Outcome::kWhole) return reader.Take();
      if (outcome == wire::RespReader::Outcome::kMalformed) {
        return Status(Code::kUnavailable, fmt::format("{} does not speak RESP", url_));
      }
    }
  }

 private:
  // Runs one asynchronous step to its end: timeouts are heeded in asynchronous calls only.
  template <typename Start>
  Error Step(std::chrono::milliseconds timeout, const Start& start) {
    Error result;
    stream_.expires_after(timeout);
    context_.restart();
    start([&result](const Error& error, auto&&... /*what was done*/) { result = error; });
    context_.run();
    return result;
  }

  [[nodiscard]] Status Failed(std::string_view what, const Error& error,
                              std::chrono::milliseconds timeout) const {
    const std::string why = error == boost::beast::error::timeout
                                ? fmt::format("no answer in {}", DurationText(timeout))
                                : error.message();
    return {Code::kUnavailable, fmt::format("{} {}: {}", what, url_, why)};
  }

  const std::string url_;
  const std::chrono::milliseconds idle_timeout_;
  asio::io_context context_;
  boost::beast::tcp_stream stream_{context_};
};

// What an error of the server's is for us: its own words, and a code that says what to do.
Status ErrorOf(std::string_view error) {
  const std::string said = fmt::format("the server said {}", Printable(error, kSaidMax));
  const std::string_view word = error.substr(0, error.find(' '));
  static constexpr std::array<std::pair<std::string_view, Code>, 6> kCodes = {{
      {"NOTFOUND", Code::kNotFound},
      {"EXHAUSTED", Code::kExhausted},
      {"UNAVAILABLE", Code::kUnavailable},
      {"RATELIMITED", Code::kOverloaded},
      {"CONFLICT", Code::kFailedPrecondition},
      {"NOAUTH", Code::kUnauthenticated},
  }};
  for (const auto& [name, code] : kCodes) {
    if (name == word) return {code, said};
  }
  return {Code::kInvalidArgument, said};
}

// The keys of an answer, as lines.
Result<std::string> LinesOf(const wire::RespValue& answer) {
  if (answer.is_error()) return ErrorOf(answer.text);
  std::string lines;
  for (const wire::RespValue& key : answer.items) {
    if (key.type != wire::RespType::kBulk) break;
    lines.append(key.text).append("\n");
  }
  if (lines.empty()) return Status(Code::kUnavailable, "the server sent no keys");
  return lines;
}

}  // namespace

bool IsRespUrl(std::string_view url) { return url.starts_with(kScheme); }

Status MintOverResp(const RespMint& ask, const std::function<bool(std::string_view)>& sink) {
  const Result<Place> place = ReadUrl(ask.url);
  if (!place.ok()) return place.status();
  Link link(ask.url, ask.idle_timeout);
  if (Status connected = link.Connect(*place, ask.connect_timeout); !connected.ok()) {
    return connected;
  }
  std::uint64_t got = 0;
  const auto failed = [&](const Status& why) {
    if (got == 0) return why;
    return Status(Code::kUnavailable,
                  fmt::format("got {} of {} keys: {}", got, ask.count, why.message()));
  };
  while (got < ask.count) {
    const std::string count = fmt::to_string(std::min(ask.count - got, kKeysAtOnce));
    const std::array<std::string_view, 4> words = {"KEYMILL.MINT", ask.keyspace, "COUNT", count};
    std::string command;
    wire::AppendRespCommand(words, command);
    const Result<wire::RespValue> answer = link.Ask(command);
    if (!answer.ok()) return failed(answer.status());
    const Result<std::string> lines = LinesOf(*answer);
    if (!lines.ok()) return failed(lines.status());
    got += static_cast<std::uint64_t>(std::count(lines->begin(), lines->end(), '\n'));
    if (!sink(*lines)) return {};
  }
  return {};
}

}  // namespace keymill::app
