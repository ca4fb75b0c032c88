// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "net/listener.h"

#include <cerrno>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace keymill::net {
namespace {

std::string ErrorText(int error) { return std::generic_category().message(error); }

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// Null when `address` is none.
Addresses Resolve(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  return {failed == 0 ? found : nullptr, ::freeaddrinfo};
}

std::uint16_t PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(socket, generic, &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace

Result<Listener> Listener::Open(const std::string& address, std::uint16_t port) {
  const Addresses found = Resolve(address, port);
  if (!found) {
    return Status(Code::kInvalidArgument,
                  fmt::format("listen on {}: this is no IP address", address));
  }
  Descriptor socket(
      ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  const int on = 1;
  const bool listens = socket.open() &&
                       ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                       ::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                       ::listen(socket.get(), kBacklog) == 0;
  const int error = errno;
  if (listens) {
    const std::uint16_t bound = PortOf(socket.get());
    return Listener(std::move(socket), bound);
  }
  if (error == EADDRINUSE) {
    return Status(
        Code::kAlreadyExists,
        fmt::format("listen on {}:{}: port {} is in use by another process", address, port, port));
  }
  return Status(Code::kInvalidArgument,
                fmt::format("listen on {}:{}: {}", address, port, ErrorText(error)));
}

Descriptor Listener::Accept() {
  for (;;) {
    Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    error_ = socket.open() ? 0 : errno;
    // The first connection in the queue went away again, or its network did: accept(2).
    const bool gone = error_ == EINTR || error_ == ECONNABORTED || error_ == EPROTO ||
                      error_ == ENETDOWN || error_ == ENETUNREACH || error_ == EHOSTDOWN ||
                      error_ == EHOSTUNREACH || error_ == ENOPROTOOPT || error_ == EOPNOTSUPP ||
                      error_ == ENONET;
    if (gone) continue;
    if (error_ == EAGAIN || error_ == EWOULDBLOCK) error_ = 0;
    return socket;
  }
}

std::string Listener::failure() const { return ErrorText(error_); }

}  // namespace keymill::net
