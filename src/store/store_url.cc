// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/store_url.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace keymill::store {
namespace {

constexpr std::string_view kSeparator = "://";
// Names of parameters whose values are nobody's business.
constexpr std::string_view kSecret = "password";

Status Invalid(std::string_view why) {
  return {Code::kInvalidArgument, fmt::format("read the store's URL: {}", why)};
}

bool IsScheme(std::string_view text) {
  return text.find_first_of(":@/?") == std::string_view::npos;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> Decode(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexValue(text[i + 2]) : -1;
    if (high < 0 || low < 0) return Invalid("a % must be followed by two hexadecimal digits");
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (plain.find('\0') != std::string::npos) return Invalid("%00 cannot be part of it");
  return plain;
}

// Takes what lies before `mark` off `text`, and the mark; all of it when there is no mark.
std::string_view TakeUntil(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

Result<HostPort> ParseHost(std::string_view text) {
  HostPort host;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return Invalid("a [ without its ]");
    host.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return Invalid("expected :PORT after ]");
    port.remove_prefix(port.empty() ? 0 : 1);
  } else {
    Result<std::string> name = Decode(TakeUntil(text, ':'));
    if (!name.ok()) return name.status();
    host.host = *std::move(name);
    port = text;
  }
  if (host.host.empty()) return Invalid("a host is missing");
  if (port.empty()) return host;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), host.port);
  if (error != std::errc() || end != port.data() + port.size() || host.port == 0) {
    return Invalid("a port must be a number in [1, 65535]");
  }
  return host;
}

Status ParseAuthority(std::string_view text, StoreUrl& url) {
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    std::string_view password = text.substr(0, at);
    Result<std::string> user = Decode(TakeUntil(password, ':'));
    if (!user.ok()) return user.status();
    Result<std::string> secret = Decode(password);
    if (!secret.ok()) return secret.status();
    url.user = *std::move(user);
    url.password = *std::move(secret);
    text.remove_prefix(at + 1);
  }
  while (!text.empty()) {
    const bool more = text.find(',') != std::string_view::npos;
    Result<HostPort> host = ParseHost(TakeUntil(text, ','));
    if (!host.ok()) return host.status();
    url.hosts.push_back(*std::move(host));
    if (more && text.empty()) return Invalid("a host is missing");
  }
  return {};
}

Status ParseQuery(std::string_view text, StoreUrl& url) {
  while (!text.empty()) {
    std::string_view value = TakeUntil(text, '&');
    Result<std::string> name = Decode(TakeUntil(value, '='));
    if (!name.ok()) return name.status();
    Result<std::string> decoded = Decode(value);
    if (!decoded.ok()) return decoded.status();
    if (!url.query.emplace(*name, *std::move(decoded)).second) {
      return Invalid(fmt::format("{} is given twice", *name));
    }
  }
  return {};
}

}  // namespace

Result<StoreUrl> ParseStoreUrl(std::string_view text) {
  StoreUrl url;
  const std::size_t separator = text.find(kSeparator);
  if (separator == 0 || separator == std::string_view::npos) {
    return Invalid("expected SCHEME://HOST:PORT/PATH");
  }
  url.scheme = text.substr(0, separator);
  if (!IsScheme(url.scheme)) return Invalid("expected SCHEME://HOST:PORT/PATH");
  text.remove_prefix(separator + kSeparator.size());
  std::string_view before_query = TakeUntil(text, '?');
  const std::string_view query = text;
  const std::string_view authority = TakeUntil(before_query, '/');
  // Or what stands before such an @ would be taken for a host, a path or a parameter, and shown.
  if (before_query.find('@') != std::string_view::npos ||
      query.find('@') != std::string_view::npos) {
    return Invalid(
        "an @ after a / or a ?: in user and password write / as %2F and ? as %3F; elsewhere write "
        "@ as %40");
  }
  if (Status read = ParseAuthority(authority, url); !read.ok()) return read;
  Result<std::string> path = Decode(before_query);
  if (!path.ok()) return path.status();
  url.path = *std::move(path);
  if (Status read = ParseQuery(query, url); !read.ok()) return read;
  return url;
}

std::string ShownScheme(std::string_view url) {
  if (const std::size_t separator = url.find(kSeparator); separator != std::string_view::npos) {
    const std::string_view scheme = url.substr(0, separator);
    return fmt::format("{}{}…", IsScheme(scheme) ? scheme : "…", kSeparator);
  }
  // A name of a file, or what is left of a scheme.
  const std::size_t end = url.find_first_of(":@");
  if (end == std::string_view::npos) return std::string(url);
  const std::string_view head = url.substr(0, url.find_first_of(":@/?"));
  return fmt::format("{}…", url[head.size()] == '@' ? "" : head);
}

std::string ShownUrl(std::string_view url) {
  // A file may have any name.
  if (url.starts_with("sqlite:") || url == "memory:") return std::string(url);
  const std::size_t separator = url.find(kSeparator);
  if (separator == std::string_view::npos || !ParseStoreUrl(url).ok()) return ShownScheme(url);
  const std::size_t begin = separator + kSeparator.size();
  const std::size_t query = std::min(url.find('?', begin), url.size());
  const std::size_t at = url.substr(0, query).rfind('@');
  std::string shown(url.substr(0, begin));
  if (at != std::string_view::npos && at >= begin) {
    const std::string_view user = url.substr(begin, at - begin);
    shown += user.substr(0, user.find(':'));
    shown += '@';
    shown += url.substr(at + 1, query - at - 1);
  } else {
    shown += url.substr(begin, query - begin);
  }
  char mark = '?';
  for (std::string_view rest = url.substr(std::min(query + 1, url.size())); !rest.empty();) {
    const std::string_view parameter = TakeUntil(rest, '&');
    if (parameter.substr(0, parameter.find('=')).find(kSecret) != std::string_view::npos) continue;
    shown += mark;
    shown += parameter;
    mark = '&';
  }
  return shown;
}

}  // namespace keymill::store
