// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A Redis server of the test's own, on the loopback, with its data in a temporary directory.

#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_dir.h"

extern char** environ;  // NOLINT: as POSIX has it.

namespace keymill {

// A socket that listens on a free port of the loopback.
inline int ListenAnywhere(std::uint16_t& port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, generic, size) != 0 || ::listen(listener, 16) != 0) return -1;
  ::getsockname(listener, generic, &size);
  port = ntohs(address.sin_port);
  return listener;
}

inline int DialLoopback(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return socket;
  ::close(socket);
  return -1;
}

class RedisProcess {
 public:
  // `settings` are words of its command line, after those that make it safe.
  explicit RedisProcess(const std::vector<std::string>& settings = {}) {
    ::close(ListenAnywhere(port_));
    std::vector<std::string> words = {"redis-server",
                                      "--port",
                                      std::to_string(port_),
                                      "--bind",
                                      "127.0.0.1",
                                      "--dir",
                                      dir_.path().string(),
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "yes",
                                      "--appendfsync",
                                      "always",
                                      "--aof-load-truncated",
                                      "no",
                                      "--logfile",
                                      "server.log"};
    words.insert(words.end(), settings.begin(), settings.end());
    words_ = std::move(words);
    Launch();
  }
  ~RedisProcess() { Kill(); }
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void Freeze() const { ::kill(pid_, SIGSTOP); }
  void Thaw() const { ::kill(pid_, SIGCONT); }
  void KillAndStart() {
    Kill();
    Launch();
  }

 private:
  void Launch() {
    std::vector<char*> arguments;
    for (std::string& word : words_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::posix_spawnp(&pid_, "redis-server", nullptr, nullptr, arguments.data(), environ) != 0) {
      pid_ = -1;
    }
    // It listens within milliseconds; half a minute is for a busy machine.
    for (int i = 0; i < 3000 && pid_ > 0; ++i) {
      const int socket = DialLoopback(port_);
      if (socket >= 0) {
        ::close(socket);
        return;
      }
      ::poll(nullptr, 0, 10);
    }
  }

  void Kill() const {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  TempDir dir_;
  std::vector<std::string> words_;  // Of its command line.
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace keymill
