// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/cross_site.h"

#include <algorithm>
#include <string_view>

namespace keymill::api::http {
namespace {

using wire::Method;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

// Whether `origin` (https://example.com:8443, or null) is the site at `host`. The scheme does
// not matter: a proxy before us may speak TLS.
bool IsSameSite(std::string_view origin, std::string_view host) {
  constexpr std::string_view kEndOfScheme = "://";
  const std::size_t scheme = origin.find(kEndOfScheme);
  if (scheme == std::string_view::npos) return false;
  const std::string_view authority = origin.substr(scheme + kEndOfScheme.size());
  // Browsers leave the scheme's own port out.
  const std::string_view port =
      EqualsIgnoringCase(origin.substr(0, scheme), "https") ? ":443" : ":80";
  if (host.ends_with(port) && !authority.ends_with(port)) host.remove_suffix(port.size());
  return EqualsIgnoringCase(authority, host);
}

bool IsSafe(Method method) {
  return method == Method::kGet || method == Method::kHead || method == Method::kOptions;
}

}  // namespace

bool IsCrossSite(const wire::HttpRequest& request, bool mints) {
  if (mints && EqualsIgnoringCase(request.sec_fetch_site, "cross-site")) return true;
  if (request.origin.empty() || (!mints && IsSafe(request.method))) return false;
  return !IsSameSite(request.origin, request.host);
}

}  // namespace keymill::api::http
