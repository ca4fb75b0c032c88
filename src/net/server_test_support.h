// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Real sockets on the loopback, and a protocol of lines that makes every corner reachable.

#pragma once

#include <atomic>
#include <charconv>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mutex.h"
#include "net/server.h"

namespace keymill::net {

using namespace std::chrono_literals;

// A flag that one thread raises and another waits for.
class Signal {
 public:
  void Raise() {
    const MutexLock lock(mu_);
    raised_ = true;
    changed_.NotifyAll();
  }
  bool Await() {
    const MonotonicTime deadline = SystemClock().Monotonic() + 20s;
    const MutexLock lock(mu_);
    while (!raised_) {
      if (!changed_.WaitUntil(mu_, deadline) && !raised_) return false;
    }
    return true;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  bool raised_ KEYMILL_GUARDED_BY(mu_) = false;
};

// What the sessions of one server share with the test.
struct Shared {
  Signal entered;  // A session has reached "block".
  Signal release;  // Lets it go on.
  Mutex mu;
  std::vector<Waker> wakers KEYMILL_GUARDED_BY(mu);  // Of sessions that said "park".
  Signal parked;
  std::atomic<std::size_t> output_max{0};
  std::atomic<int> sessions{0};

  Waker waker() {
    const MutexLock lock(mu);
    return wakers.empty() ? Waker() : wakers.back();
  }
};

// Answers every line: "echo X" with X, "big N" with N bytes in pieces, "park" once it is
// woken, "nap N" after N ms, "block" once the test lets it (the loop stands still until
// then), "quit" with "bye" and the end of the connection. After "hold" it says that it keeps
// something; after "eat" it takes the beginnings of lines, too, and forgets them.
class LineSession final : public Session {
 public:
  LineSession(Shared& shared, Waker waker) : shared_(shared), waker_(std::move(waker)) {
    ++shared_.sessions;
  }
  ~LineSession() override { --shared_.sessions; }

  Step Advance(std::string_view input, std::string& output) override {
    Step step = Work(input, output);
    if (output.size() > shared_.output_max) shared_.output_max = output.size();
    return step;
  }
  void OnTimeout(std::string& output) override { output += "too slow\n"; }
  void OnDrain() override { draining_ = true; }

 private:
  Step Work(std::string_view input, std::string& output) {
    if (std::exchange(parked_, false)) output += "woken\n";
    std::size_t consumed = 0;
    for (;;) {
      if (left_ > 0) {
        const std::size_t piece = std::min<std::size_t>(left_, 64 * 1024);
        output.append(piece, 'x');
        left_ -= piece;
        if (left_ > 0) return {.consumed = consumed, .want = Want::kFlush};
      }
      const std::size_t end = input.find('\n', consumed);
      if (end == std::string_view::npos) break;
      const std::string_view line = input.substr(consumed, end - consumed);
      consumed = end + 1;
      if (line == "quit") {
        output += "bye\n";
        return {.consumed = input.size(), .want = Want::kClose};
      }
      if (line == "park" || line.starts_with("nap ")) return Park(line, consumed);
      Answer(line, output);
    }
    const bool rest = consumed < input.size();
    if (draining_ && !rest && consumed > 0) return {.consumed = consumed, .want = Want::kClose};
    const bool began = consumed > 0 || !std::exchange(begun_, rest);
    return {.consumed = eats_ ? input.size() : consumed,
            .want = Want::kInput,
            .in_request = rest,
            .new_request = began,
            .holding = holds_};
  }

  void Answer(std::string_view line, std::string& output) {
    if (line.starts_with("big ")) left_ = Number(line.substr(4));
    if (line.starts_with("echo ")) output.append(line.substr(5)).append("\n");
    if (line == "hold") holds_ = true;
    if (line == "eat") eats_ = true;
    if (line == "block") {
      shared_.entered.Raise();
      shared_.release.Await();
      output += "released\n";
    }
  }

  Step Park(std::string_view line, std::size_t consumed) {
    parked_ = true;
    Step step{.consumed = consumed, .want = Want::kWake};
    if (line == "park") {
      const MutexLock lock(shared_.mu);
      shared_.wakers.push_back(waker_);
      shared_.parked.Raise();
    } else {
      step.wake_at = SystemClock().Monotonic() + std::chrono::milliseconds(Number(line.substr(4)));
    }
    return step;
  }

  static std::size_t Number(std::string_view text) {
    std::size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  Shared& shared_;
  const Waker waker_;
  std::size_t left_ = 0;
  bool holds_ = false;
  bool eats_ = false;
  bool begun_ = false;  // A line.
  bool parked_ = false;
  bool draining_ = false;
};

inline SessionFactory LineSessions(Shared& shared) {
  return [&shared](Waker waker) -> std::unique_ptr<Session> {
    return std::make_unique<LineSession>(shared, std::move(waker));
  };
}

// One endpoint, whose port it knows.
class LineServer : public Server {
 public:
  LineServer(Shared& shared, const Endpoint& endpoint, const ServerOptions& options)
      : Server(options), port_(Listen(endpoint, LineSessions(shared))) {
    EXPECT_TRUE(port_.ok()) << port_.status().message();
    Run();
  }
  [[nodiscard]] std::uint16_t port() const { return port_.ok() ? *port_ : 0; }

 private:
  const Result<std::uint16_t> port_;
};

inline std::unique_ptr<LineServer> StartServer(Shared& shared, const Endpoint& endpoint = {},
                                               const ServerOptions& options = {}) {
  return std::make_unique<LineServer>(shared, endpoint, options);
}

// A blocking client. Whatever does not happen within seconds fails its test.
class Client {
 public:
  Client() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {}
  explicit Client(std::uint16_t port, int receive_buffer = 0) : Client() {
    if (receive_buffer > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    Connect(port);
  }
  bool Connect(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    return connected_;
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }

  // False when the other side has gone.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void FinishSending() { ::shutdown(socket_, SHUT_WR); }
  // Its end will be a reset.
  void Reset() {
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

  // Reads until `size` bytes are here or the other side has closed.
  std::string Read(std::size_t size) {
    std::string bytes;
    std::vector<char> buffer(64 * 1024);
    while (bytes.size() < size) {
      pollfd ready{socket_, POLLIN, 0};
      if (::poll(&ready, 1, 20'000) != 1) {
        ADD_FAILURE() << "nothing arrives behind " << bytes.size() << " bytes";
        break;
      }
      const ssize_t got =
          ::recv(socket_, buffer.data(), std::min(buffer.size(), size - bytes.size()), 0);
      if (got < 0) bytes += "<reset>";
      if (got <= 0) break;
      bytes.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return bytes;
  }
  std::string ReadLine() {
    std::string line;
    while (!line.ends_with('\n')) {
      const std::string byte = Read(1);
      if (byte.size() != 1) return line + byte;
      line += byte;
    }
    return line;
  }
  std::string ReadToEnd() { return Read(1 << 30); }
  // Whether something, or the end, is there to be read within `timeout`.
  bool Readable(std::chrono::milliseconds timeout) {
    pollfd ready{socket_, POLLIN, 0};
    return ::poll(&ready, 1, static_cast<int>(timeout.count())) == 1;
  }

 private:
  const int socket_;
  bool connected_ = false;
};

}  // namespace keymill::net
