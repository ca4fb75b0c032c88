// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/mariadb/mariadb_options.h"

#include <optional>

#include <fmt/format.h>

namespace keymill::store {
namespace {

constexpr std::uint16_t kUsualPort = 3306;

Status Invalid(std::string_view why) {
  return {Code::kInvalidArgument, fmt::format("read the store's URL: {}", why)};
}

Result<bool> ReadSwitch(std::string_view name, std::string_view value) {
  if (value == "on" || value == "true" || value == "1") return true;
  if (value == "off" || value == "false" || value == "0") return false;
  return Invalid(fmt::format("{} must be on or off", name));
}

std::string* FindText(MariadbOptions& options, std::string_view name) {
  if (name == "socket") return &options.socket;
  if (name == "ssl_ca") return &options.tls_ca;
  if (name == "ssl_cert") return &options.tls_cert;
  if (name == "ssl_key") return &options.tls_key;
  return nullptr;
}

}  // namespace

Result<MariadbOptions> ReadMariadbOptions(const StoreUrl& url) {
  MariadbOptions options{.hosts = url.hosts,
                         .user = url.user,
                         .password = url.password,
                         .database = url.path,
                         .socket = {},
                         .tls_ca = {},
                         .tls_cert = {},
                         .tls_key = {}};
  for (HostPort& host : options.hosts) {
    if (host.port == 0) host.port = kUsualPort;
  }
  // The server's own limit; a slash would be a second path element that means nothing.
  if (options.database.empty() || options.database.size() > 64 ||
      options.database.find('/') != std::string::npos) {
    return Invalid(fmt::format("expected the name of a database: {}://USER@HOST:{}/DATABASE",
                               url.scheme, kUsualPort));
  }
  std::optional<bool> tls;
  for (const auto& [name, value] : url.query) {
    if (name == "ssl" || name == "ssl_verify") {
      Result<bool> on = ReadSwitch(name, value);
      if (!on.ok()) return on.status();
      if (name == "ssl") tls = *on;
      if (name == "ssl_verify") options.tls_verify = *on;
      continue;
    }
    std::string* const text = FindText(options, name);
    if (text == nullptr) {
      return Invalid(
          fmt::format("{} is no parameter of a MariaDB store; there are ssl, ssl_ca, "
                      "ssl_cert, ssl_key, ssl_verify and socket",
                      name));
    }
    if (value.empty()) return Invalid(fmt::format("{} must be a path", name));
    *text = value;
  }
  const bool files =
      !options.tls_ca.empty() || !options.tls_cert.empty() || !options.tls_key.empty();
  if (files && tls == false) return Invalid("ssl=off, but files for ssl are given");
  options.tls = tls.value_or(files);
  if (!options.socket.empty() && !options.hosts.empty()) {
    return Invalid("give a host or a socket, not both");
  }
  return options;
}

std::string QuoteMariadbName(std::string_view name) {
  std::string quoted = "`";
  for (const char c : name) quoted.append(c == '`' ? 2 : 1, c);
  return quoted + "`";
}

std::string MariadbRightsAdvice(const MariadbOptions& options) {
  return fmt::format(
      "Where there are no tables yet, or those of an older version, apply "
      "deploy/schema/mariadb.sql as an administrator; then: "
      "GRANT SELECT, INSERT, UPDATE, DELETE ON {}.* TO {};",
      QuoteMariadbName(options.database),
      options.user.empty() ? "USER" : QuoteMariadbName(options.user));
}

}  // namespace keymill::store
