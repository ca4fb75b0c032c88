// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the URL of a Redis store says.

#pragma once

#include <cstdint>
#include <string>

#include "keymill/status.h"

#include "store/store_url.h"

namespace keymill::store::redis {

struct RedisSettings {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string user;  // "": the server's default user.
  std::string password;
  std::uint32_t database = 0;
  std::string prefix = "keymill";  // Of every key; stores with different ones know nothing of
                                   // each other.
  bool tls = false;
  bool tls_verify = true;
  std::string tls_ca;  // PEM files; "": those of the system, or none.
  std::string tls_cert;
  std::string tls_key;

  // "redis 127.0.0.1:6379", for messages.
  [[nodiscard]] std::string Place() const;
};

// redis-cli as it is typed where the server is reached as it is from here, without the password.
std::string CliCommand(const RedisSettings& settings);

// What gives the user all the rights that a store needs; docs/stores.md has the same.
std::string RightsCommand(const RedisSettings& settings);

// Errors: kInvalidArgument; the message says what there is, and never holds the password.
Result<RedisSettings> ReadSettings(const StoreUrl& url);

}  // namespace keymill::store::redis
