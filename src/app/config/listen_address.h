// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::app {

struct ListenAddress {
  std::string host;  // A name, an IPv4 address, or an IPv6 address without its brackets.
  std::uint16_t port = 0;
};

// HOST:PORT or [IPv6]:PORT.
// Errors:
//   kInvalidArgument  anything else; the message quotes it and says what to write.
Result<ListenAddress> ParseListenAddress(std::string_view text);

// Where this machine reaches a listener on `address`: http://HOST:PORT. One on every address is
// asked at the loopback one.
std::string UrlOf(const ListenAddress& address);

// The first address that `host` stands for, as text.
// Errors:
//   kFailedPrecondition  it stands for none; the message says what the resolver said.
Result<std::string> ResolveHost(const std::string& host);

// Whether only this machine can reach a listener on `host`: 127.0.0.0/8, ::1, localhost.
// Any other name counts as open, whatever it may resolve to today.
bool IsLoopback(std::string_view host);

}  // namespace keymill::app
