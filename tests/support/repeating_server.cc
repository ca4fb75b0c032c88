// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A server of keys with a fault: one in every N of its keys is one that it gave before. For
// tests of those who must notice.
//
//   repeating_server [--port P] [--repeat-every N]    N = 0: never; prints its port

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "support/bare_server.h"

namespace {

constexpr std::string_view kDigits =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kKeySize = 7;

class RepeatingAnswers {
 public:
  explicit RepeatingAnswers(std::uint64_t every) : every_(every) {}

  void operator()(std::string& out, std::size_t count) {
    for (; count > 0; --count) {
      out +=
          "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 7\r\n"
          "Cache-Control: no-store\r\n\r\n";
      // The last key of each N is the one in the middle of them.
      const std::uint64_t number = next_++;
      const bool repeat = every_ > 0 && number % every_ == every_ - 1;
      Append(out, repeat ? number - every_ / 2 : number);
    }
  }

 private:
  static void Append(std::string& out, std::uint64_t number) {
    std::array<char, kKeySize> key{};
    for (std::size_t i = kKeySize; i > 0; --i, number /= kDigits.size()) {
      key[i - 1] = kDigits[number % kDigits.size()];
    }
    out.append(key.data(), key.size());
  }

  std::uint64_t every_;
  std::uint64_t next_ = 0;
};

std::uint64_t Number(std::string_view text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || parsed.ptr != text.data() + text.size()) {
    std::fprintf(stderr, "repeating_server: not a number\n");
    std::exit(2);
  }
  return number;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t port = 0;
  std::uint64_t every = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--port") port = Number(argv[i + 1]);
    if (flag == "--repeat-every") every = Number(argv[i + 1]);
  }
  keymill::test::BareServer server(static_cast<std::uint16_t>(port), RepeatingAnswers(every));
  std::printf("%d\n", int{server.port()});
  std::fflush(stdout);
  server.Run();
}
