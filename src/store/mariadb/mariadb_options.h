// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a URL says about a MariaDB or MySQL server:
// mariadb://user:password@host1:3306,host2/database?ssl=on&ssl_ca=/etc/ca.pem

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

#include "store/store_url.h"

namespace keymill::store {

struct MariadbOptions {
  // Tried in order until one is writable. Empty: the Unix socket.
  std::vector<HostPort> hosts;
  std::string user;  // Empty: the name of the process's user, as the connector has it.
  std::string password;
  std::string database;
  std::string socket;  // Path; empty: the connector's usual one.

  // Whether the connection must be encrypted; never silently given up.
  bool tls = false;
  // Whether the server's certificate must fit its name and come from ssl_ca, or from an authority
  // that the machine trusts. Turn it off only on a network that nobody else can reach.
  bool tls_verify = true;
  std::string tls_ca;    // Paths; may be empty.
  std::string tls_cert;  // The client's own.
  std::string tls_key;
};

// Parameters: ssl (on, off), ssl_ca, ssl_cert, ssl_key, ssl_verify (on, off), socket. Naming one
// of the files turns ssl on.
// Errors: kInvalidArgument; the message says which parameters there are, and holds no password.
Result<MariadbOptions> ReadMariadbOptions(const StoreUrl& url);

// What an administrator does for a user who was denied something.
std::string MariadbRightsAdvice(const MariadbOptions& options);

// A name in backquotes.
std::string QuoteMariadbName(std::string_view name);

}  // namespace keymill::store
