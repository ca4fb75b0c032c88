// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A store URL in the words of libpq.

#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "keymill/status.h"

#include "store/store_url.h"

namespace keymill::store {

struct PostgresPlace {
  struct Host {
    std::string name;  // A name, an address, the directory of a socket, or "" for libpq's own.
    std::string port;  // "" for the usual one.
  };
  std::vector<Host> hosts;  // At least one, in the order in which they are tried.
  // All other parameters of a connection, by libpq's names. Holds the password.
  std::map<std::string, std::string> parameters;
  std::string schema;  // Where Keymill's tables are.
  // The longest that one host is waited for; 0: until the deadline.
  std::chrono::seconds host_timeout{0};
};

// What libpq takes in a URL is taken here too, and schema=NAME (keymill) besides. With several
// hosts the one that can be written to is looked for.
// Errors: kInvalidArgument; the message says which parameters there are, and never holds a
// password.
Result<PostgresPlace> ReadPostgresUrl(const StoreUrl& url);

}  // namespace keymill::store
