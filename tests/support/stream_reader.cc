// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Reads streams of keys from one connection as fast as it can and looks at every key. Keys of
// a sequence must grow from line to line, so that none can have come before.
//
//   stream_reader PORT KEYSPACE COUNT REQUESTS
//
// prints {"keys":…,"out_of_order":…,"broken":…,"bytes":…,"seconds":…}. With --sink before PORT
// it looks at nothing but the two ends of an answer, because looking at every key takes longer
// than making it; it then prints {"broken":…,"bytes":…,"seconds":…}.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using SteadyClock = std::chrono::steady_clock;

// As large as the buffer that iperf3 reads into, with which the sink is compared.
constexpr std::size_t kSinkSize = 128 << 10;

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::exit(2);
}

int Connect(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    Die("connect");
  }
  return fd;
}

// The bytes of a connection, a buffer at a time.
class Input {
 public:
  explicit Input(int fd) : fd_(fd), buffer_(1 << 20) {}

  // At least one byte.
  std::string_view Some() {
    if (begin_ == end_) Fill();
    return {buffer_.data() + begin_, end_ - begin_};
  }
  void Skip(std::size_t size) { begin_ += size; }
  // Up to and without CRLF.
  std::string Line() {
    std::string line;
    for (;;) {
      const std::string_view some = Some();
      const std::size_t end = some.find('\n');
      line.append(some.substr(0, end));
      Skip(end == std::string_view::npos ? some.size() : end + 1);
      if (end == std::string_view::npos) continue;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void Fill() {
    const ssize_t got = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (got <= 0) Die("the stream was cut");
    begin_ = 0;
    end_ = static_cast<std::size_t>(got);
    bytes_ += end_;
  }

  const int fd_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t bytes_ = 0;
};

// Looks at lines that may be cut anywhere. Base62 in the order of ASCII, one length: then keys
// grow when their bytes do.
class Checker {
 public:
  void Take(std::string_view bytes) {
    while (!bytes.empty()) {
      if (!cut_.empty() || bytes.size() < width_ + 1) {
        const std::size_t end = bytes.find('\n');
        cut_.append(bytes.substr(0, end));
        if (end == std::string_view::npos) return;
        See(cut_);
        cut_.clear();
        bytes.remove_prefix(end + 1);
        continue;
      }
      std::size_t end = width_;
      if (width_ == 0 || bytes[width_] != '\n') end = bytes.find('\n');
      if (end == std::string_view::npos) {
        cut_ = bytes;
        return;
      }
      See(bytes.substr(0, end));
      bytes.remove_prefix(end + 1);
    }
  }
  [[nodiscard]] std::uint64_t keys() const { return keys_; }
  [[nodiscard]] std::uint64_t out_of_order() const { return out_of_order_; }
  [[nodiscard]] bool whole() const { return cut_.empty(); }

 private:
  void See(std::string_view key) {
    ++keys_;
    const bool grows = key.size() != width_ || std::memcmp(key.data(), last_, width_) > 0;
    if (!grows || key.size() < width_ || key.size() > sizeof last_) ++out_of_order_;
    width_ = std::min(key.size(), sizeof last_);
    std::memcpy(last_, key.data(), width_);
  }

  std::string cut_;
  char last_[96] = {};
  std::size_t width_ = 0;
  std::uint64_t keys_ = 0;
  std::uint64_t out_of_order_ = 0;
};

// Swallows one chunked answer and adds its size to `bytes`. False when it is none. No key holds
// a CR, so nothing but the last chunk looks like the end.
bool SinkAnswer(int fd, std::vector<char>& buffer, std::uint64_t& bytes) {
  constexpr std::string_view kBegin = "HTTP/1.1 200 OK\r\n";
  constexpr std::string_view kEnd = "\r\n0\r\n\r\n";
  std::string tail;
  for (bool first = true;; first = false) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) Die("the stream was cut");
    const std::string_view some(buffer.data(), static_cast<std::size_t>(got));
    bytes += some.size();
    if (first && some.substr(0, kBegin.size()) != kBegin) return false;
    tail.append(some.substr(some.size() - std::min(some.size(), kEnd.size())));
    tail.erase(0, tail.size() - std::min(tail.size(), kEnd.size()));
    if (tail == kEnd) return true;
  }
}

// One chunked answer. False when it is none.
bool ReadAnswer(Input& input, Checker& checker) {
  if (input.Line() != "HTTP/1.1 200 OK") return false;
  bool chunked = false;
  for (std::string line = input.Line(); !line.empty(); line = input.Line()) {
    if (line == "Transfer-Encoding: chunked") chunked = true;
  }
  while (chunked) {
    const std::string size_line = input.Line();
    std::uint64_t left = 0;
    std::from_chars(size_line.data(), size_line.data() + size_line.size(), left, 16);
    if (left == 0) return input.Line().empty() && checker.whole();
    while (left > 0) {
      const std::string_view some = input.Some().substr(0, left);
      checker.Take(some);
      input.Skip(some.size());
      left -= some.size();
    }
    if (!input.Line().empty()) return false;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const bool sink = argc > 1 && std::string_view(argv[1]) == "--sink";
  if (argc != (sink ? 6 : 5)) {
    std::fprintf(stderr, "usage: stream_reader [--sink] PORT KEYSPACE COUNT REQUESTS\n");
    return 2;
  }
  char** const arguments = argv + (sink ? 2 : 1);
  const int fd = Connect(std::atoi(arguments[0]));
  const std::string request = std::string("POST /v1/keyspaces/") + arguments[1] +
                              "/keys?count=" + arguments[2] + " HTTP/1.1\r\nHost: localhost\r\n" +
                              "Accept: text/plain\r\nContent-Length: 0\r\n\r\n";
  Input input(fd);
  Checker checker;
  std::vector<char> buffer(kSinkSize);
  std::uint64_t sunk = 0;
  int broken = 0;
  const auto began = SteadyClock::now();
  for (int i = std::atoi(arguments[3]); i > 0; --i) {
    if (::send(fd, request.data(), request.size(), 0) < 0) Die("send");
    if (sink ? SinkAnswer(fd, buffer, sunk) : ReadAnswer(input, checker)) continue;
    ++broken;
    break;
  }
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  std::printf("{");
  if (!sink) {
    std::printf("\"keys\":%llu,\"out_of_order\":%llu,",
                static_cast<unsigned long long>(checker.keys()),
                static_cast<unsigned long long>(checker.out_of_order()));
  }
  std::printf("\"broken\":%d,\"bytes\":%llu,\"seconds\":%.6f}\n", broken,
              static_cast<unsigned long long>(sink ? sunk : input.bytes()), seconds);
  return 0;
}
