// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A listening TCP socket.

#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "keymill/status.h"

#include "base/descriptor.h"

namespace keymill::net {

class Listener {
 public:
  static constexpr int kBacklog = 4096;

  // Binds and listens; port 0 picks a free one.
  // Errors:
  //   kAlreadyExists    another process listens on this port (the message names it).
  //   kInvalidArgument  the address cannot be bound here.
  static Result<Listener> Open(const std::string& address, std::uint16_t port);

  Listener() = default;  // Closed.

  [[nodiscard]] bool open() const { return socket_.open(); }
  [[nodiscard]] int fd() const { return socket_.get(); }
  // From any thread; also when it is closed.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  void Close() { socket_.Close(); }

  // The next connection, which does not block; none when nobody waits, or on a failure.
  Descriptor Accept();
  // Whether the last Accept failed for want of something that will not be there at once.
  [[nodiscard]] bool exhausted() const { return error_ != 0; }
  [[nodiscard]] std::string failure() const;

 private:
  Listener(Descriptor socket, std::uint16_t port) : socket_(std::move(socket)), port_(port) {}

  Descriptor socket_;
  std::uint16_t port_ = 0;
  int error_ = 0;
};

}  // namespace keymill::net
