// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A server to put load on: where it is and what to ask it.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include "keymill/status.h"

#include "load/protocol.h"

namespace keymill::load {

struct Target {
  std::string url;  // As given, for messages.
  std::string host;
  std::string port;
  std::shared_ptr<const Protocol> protocol;
  sockaddr_storage address{};  // After Resolve.
  socklen_t address_size = 0;
};

// What to ask for; without a keyspace, what the URL's path gives.
struct TargetRequest {
  std::string keyspace;
  std::uint64_t count = 1;
};

// Reads http://HOST[:PORT][/PATH]; HOST:PORT alone will do. Without a path it is GET
// /get-key. With a keyspace it is POST /v1/keyspaces/K/keys?count=N.
// redis://HOST[:PORT] is KEYMILL.MINT over RESP, of `default` without a keyspace.
// Errors: kInvalidArgument, with the URL and what is wrong with it.
Result<Target> ParseTarget(std::string_view url, const TargetRequest& request);

// Finds the address and connects once, to see that somebody answers there.
// Errors: kUnavailable, with the URL and what was said. The address is then kept as far as
// it was found: address_size is 0 only when the name has none.
Status Reach(Target& target);

}  // namespace keymill::load
