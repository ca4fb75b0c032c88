// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The least that answers HTTP: one thread, one epoll loop, one read and one write for each
// wake-up. A request is whatever ends with an empty line; nothing else of it is looked at.
// It shares no code with the server, so that a mistake there cannot hide itself here.

#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace keymill::test {

[[noreturn]] inline void DieOf(const char* what) {
  std::perror(what);
  std::exit(1);
}

// `Answers` is called as answers(std::string& out, std::size_t count) and appends that many.
template <typename Answers>
class BareServer {
 public:
  // Listens on a port of the loopback; 0 picks one. Ends the process if it cannot.
  BareServer(std::uint16_t port, Answers answers)
      : answers_(std::move(answers)),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
        buffer_(kBufferSize) {
    const int one = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 4096) != 0) DieOf("listen");
    ::getsockname(listener_, generic, &size);
    port_ = ntohs(address.sin_port);
    Watch(listener_, nullptr, EPOLL_CTL_ADD, EPOLLIN);
  }
  ~BareServer() {
    ::close(listener_);
    ::close(epoll_);
  }
  BareServer(const BareServer&) = delete;
  BareServer& operator=(const BareServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // Serves until the process is ended from outside.
  [[noreturn]] void Run() {
    std::vector<epoll_event> events(256);
    for (;;) {
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        auto* const peer = static_cast<Peer*>(event.data.ptr);
        if (peer == nullptr) {
          Accept();
        } else if ((event.events & EPOLLOUT) != 0 ? !Write(*peer) : !Read(*peer)) {
          ::close(peer->fd);
          delete peer;
        }
      }
    }
  }

 private:
  static constexpr std::size_t kBufferSize = 64 * 1024;

  struct Peer {
    int fd = -1;
    std::size_t line_size = 0;  // Of the line that is not whole yet.
    std::string output;
    std::size_t written = 0;
  };

  void Watch(int fd, Peer* peer, int operation, std::uint32_t what) const {
    epoll_event event{};
    event.events = what;
    event.data.ptr = peer;
    if (::epoll_ctl(epoll_, operation, fd, &event) != 0) DieOf("epoll_ctl");
  }

  void Accept() {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    auto peer = std::make_unique<Peer>();
    peer->fd = fd;
    Watch(fd, peer.release(), EPOLL_CTL_ADD, EPOLLIN);  // Freed when the connection ends.
  }

  bool Read(Peer& peer) {
    const ssize_t got = ::recv(peer.fd, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    const std::size_t requests =
        CountRequests({buffer_.data(), static_cast<std::size_t>(got)}, peer.line_size);
    if (requests == 0) return true;
    answers_(peer.output, requests);
    return Write(peer);
  }

  // Empty lines in `text`, which goes on in a line of `line_size` bytes.
  static std::size_t CountRequests(std::string_view text, std::size_t& line_size) {
    std::size_t count = 0;
    while (!text.empty()) {
      const void* const end = std::memchr(text.data(), '\n', text.size());
      if (end == nullptr) break;
      const auto size = static_cast<std::size_t>(static_cast<const char*>(end) - text.data());
      if (line_size + size <= 1) ++count;  // Nothing but the CR.
      line_size = 0;
      text.remove_prefix(size + 1);
    }
    line_size += text.size();
    return count;
  }

  // What the socket does not take waits, and no more is read until it is gone.
  bool Write(Peer& peer) {
    const bool waited = peer.written > 0;
    const std::string_view left = std::string_view(peer.output).substr(peer.written);
    const ssize_t sent = ::send(peer.fd, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) peer.written += static_cast<std::size_t>(sent);
    const bool whole = peer.written == peer.output.size();
    if (whole) {
      peer.output.clear();
      peer.written = 0;
    }
    if (waited || !whole) Watch(peer.fd, &peer, EPOLL_CTL_MOD, whole ? EPOLLIN : EPOLLOUT);
    return true;
  }

  Answers answers_;
  const int epoll_;
  const int listener_;
  std::uint16_t port_ = 0;
  std::vector<char> buffer_;
};

}  // namespace keymill::test
