// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What HTTP on this machine costs before any key is made: a bare epoll loop that answers
// every request with the same bytes, headers as those of GET /get-key. The server is measured
// against it.
//
//   epoll_baseline [PORT]    0, the default, picks one; prints it

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "support/bare_server.h"

namespace {

constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 7\r\n"
    "Cache-Control: no-store\r\n\r\nAbCdEf1";

struct SameAnswers {
  void operator()(std::string& out, std::size_t count) const {
    for (; count > 0; --count) out += kAnswer;
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::uint16_t port = 0;
  if (argc > 1) {
    const std::string_view text = argv[1];
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
      std::fprintf(stderr, "usage: epoll_baseline [PORT]\n");
      return 2;
    }
  }
  keymill::test::BareServer server(port, SameAnswers());
  std::printf("%d\n", int{server.port()});
  std::fflush(stdout);
  server.Run();
}
