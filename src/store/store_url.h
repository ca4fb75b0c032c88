// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Where a store is: scheme://user:password@host1:port1,host2:port2/path?name=value&…

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

namespace keymill::store {

struct HostPort {
  std::string host;        // Without the brackets of an IPv6 address.
  std::uint16_t port = 0;  // 0: the store's usual one.
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Everything but the scheme is percent-decoded.
struct StoreUrl {
  std::string scheme;  // "postgres"
  std::string user;
  std::string password;
  std::vector<HostPort> hosts;  // May be empty: the store's usual place.
  std::string path;             // Without its first slash.
  std::map<std::string, std::string> query;
};

// Errors: kInvalidArgument. The message never contains the URL, which may hold a password.
Result<StoreUrl> ParseStoreUrl(std::string_view url);

// What may be shown of a URL that cannot be used, in which anything may be a password: "redis://…".
// For any text; one without :// and without : and @ is shown whole.
std::string ShownScheme(std::string_view url);

// The URL without its password, for messages, the log and the witness. Two URLs that differ in
// nothing but the password are shown alike. For any text: of what is no URL, as ShownScheme.
std::string ShownUrl(std::string_view url);

}  // namespace keymill::store
