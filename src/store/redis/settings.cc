// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/settings.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace keymill::store::redis {
namespace {

constexpr std::size_t kPrefixMax = 64;

Status Invalid(std::string_view why) {
  return {Code::kInvalidArgument, fmt::format("read the URL of the Redis store: {}", why)};
}

bool IsPrefix(std::string_view text) {
  // No braces: the prefix stands in some, so that a cluster keeps all keys in one slot.
  return !text.empty() && text.size() <= kPrefixMax &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-' || c == ':';
         });
}

Status SetParameter(std::string_view name, const std::string& value, RedisSettings& settings) {
  if (name == "prefix") {
    if (!IsPrefix(value)) {
      return Invalid(fmt::format("prefix must be 1 to {} letters, digits or . _ - :", kPrefixMax));
    }
    settings.prefix = value;
    return {};
  }
  if (!name.starts_with("tls_")) {
    return Invalid(fmt::format(
        "unknown parameter {}; there are prefix, tls_ca, tls_cert, tls_key, tls_verify", name));
  }
  if (!settings.tls) return Invalid(fmt::format("{} needs rediss://", name));
  if (name == "tls_ca") {
    settings.tls_ca = value;
  } else if (name == "tls_cert") {
    settings.tls_cert = value;
  } else if (name == "tls_key") {
    settings.tls_key = value;
  } else if (name == "tls_verify") {
    if (value != "yes" && value != "no") return Invalid("tls_verify is yes or no");
    settings.tls_verify = value == "yes";
  } else {
    return Invalid(fmt::format(
        "unknown parameter {}; there are prefix, tls_ca, tls_cert, tls_key, tls_verify", name));
  }
  return {};
}

}  // namespace

std::string RedisSettings::Place() const { return fmt::format("redis {}:{}", host, port); }

std::string CliCommand(const RedisSettings& settings) {
  return fmt::format("redis-cli -h {} -p {}{}", settings.host, settings.port,
                     settings.tls ? " --tls" : "");
}

std::string RightsCommand(const RedisSettings& settings) {
  return fmt::format(
      "{} ACL SETUSER {} '~{{{}}}:*' +@hash +@set +@sortedset +@scripting +hello +auth +select "
      "+info +ttl +unlink '+config|get'",
      CliCommand(settings), settings.user.empty() ? "default" : settings.user, settings.prefix);
}

Result<RedisSettings> ReadSettings(const StoreUrl& url) {
  RedisSettings settings;
  settings.tls = url.scheme == "rediss";
  if (url.hosts.size() > 1) {
    return Invalid("name one host: several mean replicas, and those lose acknowledged writes");
  }
  if (!url.hosts.empty()) {
    settings.host = url.hosts.front().host;
    if (url.hosts.front().port != 0) settings.port = url.hosts.front().port;
  }
  settings.user = url.user;
  settings.password = url.password;
  if (!settings.user.empty() && settings.password.empty()) {
    return Invalid("a user without a password; write user:password@ or :password@");
  }
  if (!url.path.empty()) {
    const char* const end = url.path.data() + url.path.size();
    const auto [at, error] = std::from_chars(url.path.data(), end, settings.database);
    if (error != std::errc() || at != end) {
      return Invalid("after the slash stands the number of the database: redis://HOST:PORT/0");
    }
  }
  for (const auto& [name, value] : url.query) {
    if (Status set = SetParameter(name, value, settings); !set.ok()) return set;
  }
  if (settings.tls_cert.empty() != settings.tls_key.empty()) {
    return Invalid("tls_cert and tls_key go together");
  }
  return settings;
}

}  // namespace keymill::store::redis
