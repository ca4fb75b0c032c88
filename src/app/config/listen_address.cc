// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/listen_address.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include "app/config/quote.h"

namespace keymill::app {
namespace {

constexpr std::size_t kHostSizeMax = 253;  // RFC 1035, in text.

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return port;
}

// The address bytes when `host` is one of `family`. T: in_addr or in6_addr.
template <typename T>
std::optional<T> Numeric(int family, std::string_view host) {
  T address{};
  if (::inet_pton(family, std::string(host).c_str(), &address) != 1) return {};
  return address;
}

bool IsHostName(std::string_view host) {
  const auto is_host_char = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  // Digits and dots alone are a mistyped IPv4 address, which a resolver may read as
  // something else altogether (127.1, 010.0.0.1).
  return !host.empty() && host.size() <= kHostSizeMax &&
         std::all_of(host.begin(), host.end(), is_host_char) &&
         host.find_first_not_of("0123456789.") != std::string_view::npos;
}

bool IsHost(std::string_view host, bool bracketed) {
  if (host.find('\0') != std::string_view::npos) return false;
  if (bracketed) return Numeric<in6_addr>(AF_INET6, host).has_value();
  return IsHostName(host) || Numeric<in_addr>(AF_INET, host).has_value();
}

Status Malformed(std::string_view text) {
  return {Code::kInvalidArgument,
          fmt::format("expected HOST:PORT or [IPv6]:PORT with a port in [0, 65535], not {}",
                      QuoteValue(text))};
}

}  // namespace

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Malformed(text);
  const std::optional<std::uint16_t> port = ParsePort(text.substr(colon + 1));
  if (!port) return Malformed(text);

  std::string_view host = text.substr(0, colon);
  if (host.empty()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{} does not say who may connect; write 127.0.0.1:{} (this machine) "
                              "or 0.0.0.0:{} (everyone)",
                              QuoteValue(text), *port, *port));
  }
  const bool bracketed = host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!IsHost(host, bracketed)) return Malformed(text);
  return ListenAddress{.host = std::string(host), .port = *port};
}

std::string UrlOf(const ListenAddress& address) {
  std::string host = address.host;
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", address.port);
}

Result<std::string> ResolveHost(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  std::array<char, NI_MAXHOST> text{};
  int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code == 0) {
    code = ::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0,
                         NI_NUMERICHOST);
    ::freeaddrinfo(found);
  }
  if (code == 0) return std::string(text.data());
  return Status(Code::kFailedPrecondition, fmt::format("the name {} does not resolve: {}",
                                                       QuoteValue(host), ::gai_strerror(code)));
}

bool IsLoopback(std::string_view host) {
  if (const auto v4 = Numeric<in_addr>(AF_INET, host)) return ntohl(v4->s_addr) >> 24 == 127;
  if (const auto v6 = Numeric<in6_addr>(AF_INET6, host)) {
    return std::equal(std::begin(v6->s6_addr), std::end(v6->s6_addr),
                      std::begin(in6addr_loopback.s6_addr));
  }
  static constexpr std::string_view kLocalhost = "localhost";
  return std::equal(host.begin(), host.end(), kLocalhost.begin(), kLocalhost.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

}  // namespace keymill::app
