// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/channel.h"

#include <array>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

namespace keymill::store::etcd {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kAnswerSizeMax = 64 << 20;

std::string Head(const HttpAsk& ask, const HostPort& member) {
  // hasleader: a member that is cut off from the others says so instead of waiting.
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nGrpc-Metadata-hasleader: true\r\n",
                                 ask.body.empty() ? "GET" : "POST", ask.path, MemberText(member));
  if (!ask.token.empty()) head += fmt::format("Authorization: {}\r\n", ask.token);
  if (!ask.body.empty()) {
    head +=
        fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", ask.body.size());
  }
  return head + "\r\n";
}

}  // namespace

Result<HttpAnswer> Channel::Ask(const HttpAsk& ask, MonotonicTime deadline) {
  usable_ = false;
  std::string request = Head(ask, member_);
  request += ask.body;
  if (Status sent = socket_->WriteAll(request, deadline); !sent.ok()) return sent;
  Result<HttpAnswer> answer = ReadAnswer(deadline);
  if (answer.ok()) return answer;
  return Status(Code::kUnknownOutcome, answer.status().message());
}

Result<HttpAnswer> Channel::ReadAnswer(MonotonicTime deadline) {
  http::response_parser<http::string_body> parser;
  parser.body_limit(kAnswerSizeMax);
  parser.eager(true);
  std::string unread;
  std::array<char, 64 * 1024> piece{};
  while (!parser.is_done()) {
    Result<std::size_t> got = socket_->ReadSome(piece, deadline);
    if (!got.ok()) return got.status();
    boost::system::error_code error;
    if (*got == 0) {
      // Before the first byte, an end would pass for an empty message.
      if (parser.is_header_done()) parser.put_eof(error);
      if (error || !parser.is_done()) {
        return Status(Code::kUnavailable,
                      fmt::format("read from {}: it hung up", MemberText(member_)));
      }
      break;
    }
    unread.append(piece.data(), *got);
    const std::size_t used = parser.put(boost::asio::buffer(unread), error);
    unread.erase(0, used);
    if (error && error != http::error::need_more) {
      return Status(Code::kUnavailable,
                    fmt::format("read from {}: {}", MemberText(member_), error.message()));
    }
  }
  usable_ = parser.keep_alive() && unread.empty();
  std::string date(parser.get()[http::field::date]);
  return HttpAnswer{parser.get().result_int(), std::move(parser.get().body()), std::move(date)};
}

}  // namespace keymill::store::etcd
