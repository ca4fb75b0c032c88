// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/postgres/postgres_url.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"

namespace keymill::store {
namespace {

// Passed on as they are. Not here: what would make another kind of connection (replication),
// and what is set by us (client_encoding, hostaddr).
constexpr std::array<std::string_view, 25> kPassedOn = {"application_name",
                                                        "channel_binding",
                                                        "gssencmode",
                                                        "keepalives",
                                                        "keepalives_count",
                                                        "keepalives_idle",
                                                        "keepalives_interval",
                                                        "krbsrvname",
                                                        "options",
                                                        "passfile",
                                                        "password",
                                                        "require_auth",
                                                        "sslcert",
                                                        "sslcrl",
                                                        "sslcrldir",
                                                        "sslkey",
                                                        "sslmode",
                                                        "sslpassword",
                                                        "sslrootcert",
                                                        "sslsni",
                                                        "ssl_max_protocol_version",
                                                        "ssl_min_protocol_version",
                                                        "target_session_attrs",
                                                        "tcp_user_timeout",
                                                        "user"};
constexpr std::array<std::string_view, 4> kReadHere = {"connect_timeout", "host", "port", "schema"};
// NAMEDATALEN - 1: PostgreSQL cuts a longer name, and two could become one.
constexpr std::size_t kNameSizeMax = 63;

Status Invalid(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

Status Unknown(std::string_view name) {
  std::vector<std::string_view> known(kPassedOn.begin(), kPassedOn.end());
  known.insert(known.end(), kReadHere.begin(), kReadHere.end());
  std::sort(known.begin(), known.end());
  return Invalid(fmt::format("unknown parameter \"{}\"{}; there are: {}", name,
                             DidYouMean(name, known), fmt::join(known, ", ")));
}

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, comma));
    if (comma == text.size()) return parts;
    text.remove_prefix(comma + 1);
  }
}

// ?host=/run/postgresql, the only way to name the directory of a socket.
Status ReadHosts(const StoreUrl& url, PostgresPlace& place) {
  const auto host = url.query.find("host");
  const auto port = url.query.find("port");
  for (const HostPort& given : url.hosts) {
    place.hosts.push_back({given.host, given.port == 0 ? "" : fmt::to_string(given.port)});
  }
  if (!place.hosts.empty()) {
    if (host == url.query.end() && port == url.query.end()) return {};
    return Invalid("give hosts and ports either before the path or as parameters, not both");
  }
  if (host == url.query.end()) {
    place.hosts.push_back({"", port == url.query.end() ? "" : port->second});
    return {};
  }
  for (std::string& name : SplitList(host->second)) place.hosts.push_back({std::move(name), ""});
  if (port == url.query.end()) return {};
  const std::vector<std::string> ports = SplitList(port->second);
  if (ports.size() != 1 && ports.size() != place.hosts.size()) {
    return Invalid("give one port, or one for each host");
  }
  for (std::size_t i = 0; i < place.hosts.size(); ++i) {
    place.hosts[i].port = ports[ports.size() == 1 ? 0 : i];
  }
  return {};
}

Status ReadSchema(const StoreUrl& url, PostgresPlace& place) {
  const auto schema = url.query.find("schema");
  place.schema = schema == url.query.end() ? "keymill" : schema->second;
  if (place.schema.empty() || place.schema.size() > kNameSizeMax) {
    return Invalid(fmt::format("schema must have 1 to {} bytes", kNameSizeMax));
  }
  if (place.schema.starts_with("pg_")) return Invalid("a schema cannot begin with pg_");
  return {};
}

Status ReadTimeout(const StoreUrl& url, PostgresPlace& place) {
  const auto timeout = url.query.find("connect_timeout");
  if (timeout == url.query.end()) return {};
  std::uint32_t seconds = 0;
  const std::string& text = timeout->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Invalid("connect_timeout must be a number of seconds");
  }
  place.host_timeout = std::chrono::seconds(seconds);
  return {};
}

Status ReadSession(PostgresPlace& place) {
  // A failover leaves the old primary reachable now and then, and a standby always is.
  std::string& session = place.parameters["target_session_attrs"];
  if (session.empty()) session = place.hosts.size() > 1 ? "read-write" : "any";
  if (session != "read-write" && session != "primary" && session != "any") {
    return Invalid(fmt::format(
        "target_session_attrs={} cannot hold a store; use read-write, primary or any", session));
  }
  return {};
}

}  // namespace

Result<PostgresPlace> ReadPostgresUrl(const StoreUrl& url) {
  PostgresPlace place;
  // Looking for tickets of Kerberos can take longer than anybody waits for a key.
  place.parameters["gssencmode"] = "disable";
  place.parameters["fallback_application_name"] = "keymill";
  for (const auto& [name, value] : url.query) {
    if (std::find(kReadHere.begin(), kReadHere.end(), name) != kReadHere.end()) continue;
    if (std::find(kPassedOn.begin(), kPassedOn.end(), name) == kPassedOn.end()) {
      return Unknown(name);
    }
    place.parameters[name] = value;
  }
  if (!url.user.empty()) place.parameters["user"] = url.user;
  if (!url.password.empty()) place.parameters["password"] = url.password;
  if (!url.path.empty()) place.parameters["dbname"] = url.path;
  if (Status read = ReadHosts(url, place); !read.ok()) return read;
  if (Status read = ReadSchema(url, place); !read.ok()) return read;
  if (Status read = ReadTimeout(url, place); !read.ok()) return read;
  if (Status read = ReadSession(place); !read.ok()) return read;
  return place;
}

}  // namespace keymill::store
