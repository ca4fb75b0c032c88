// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Names to addresses by a deadline: getaddrinfo() knows none.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "keymill/clock.h"
#include "keymill/status.h"

namespace keymill::store {

struct HostAddress {
  std::string text;  // "192.0.2.7"
  sockaddr_storage storage{};
  socklen_t size = 0;

  // For connect().
  [[nodiscard]] const sockaddr* socket_address() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
};

// The addresses of `host`, once each, in the order in which to try them: at least one. A host
// that is an address already is its own. Safe for concurrent use.
// Errors: kUnavailable when there are none, or no answer came by the deadline. The question
// goes on in a thread of its own then, and the next call asks for its answer.
Result<std::vector<HostAddress>> ResolveHost(const std::string& host, std::uint16_t port,
                                             const Clock& clock, MonotonicTime deadline);

}  // namespace keymill::store
