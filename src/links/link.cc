// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "links/link.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "keys/canonical_url.h"

namespace keymill::links {
namespace {

bool IsWeb(std::string_view canonical) {
  return canonical.starts_with("http://") || canonical.starts_with("https://");
}

// Whether it can be sent as it is, and is not encoded as a whole.
bool IsPlain(std::string_view url) {
  return url.find("://") != std::string_view::npos &&
         std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

KeyRow RowOf(const Link& link, std::string instance, std::string token) {
  return {.key = link.key,
          .state = KeyState::kLink,
          .since_ms = link.created_at_ms,
          .instance = std::move(instance),
          .token = std::move(token),
          .expires_at_ms = link.expires_at_ms,
          .note = fmt::format("{}\n{}", link.created_at_ms, link.url)};
}

Result<Link> LinkOf(const KeyRow& row) {
  Link link{.key = row.key,
            .url = {},
            .alias = row.token != kMintedToken,
            .expires_at_ms = row.expires_at_ms,
            .hits = row.generation,
            .counted_at_ms = row.generation == 0 ? 0 : row.since_ms};
  const std::size_t line = row.note.find('\n');
  const char* const end = row.note.data() + std::min(line, row.note.size());
  const auto [parsed, error] = std::from_chars(row.note.data(), end, link.created_at_ms);
  if (row.state != KeyState::kLink || line == std::string::npos || error != std::errc() ||
      parsed != end) {
    return Status(Code::kInternal, fmt::format("read link {}: damaged row", row.key));
  }
  link.url = row.note.substr(line + 1);
  return link;
}

Result<Target> CheckTarget(std::string_view url) {
  const auto refused = [](std::string_view why) {
    return Status(Code::kInvalidArgument, fmt::format("url: {}", why));
  };
  if (url.empty()) return refused("it is missing; send {\"url\":\"https://…\"}");
  Result<std::string> canonical = keys::CanonicalUrl(url);
  if (!canonical.ok()) return refused(canonical.status().message());
  if (!IsWeb(*canonical)) return refused("a link leads to http:// or https://, nowhere else");
  Target target{.url = IsPlain(url) ? std::string(url) : *canonical,
                .canonical = *std::move(canonical)};
  if (target.url.size() > kUrlSizeMax) {
    return refused(
        fmt::format("it has {} bytes; at most {} are possible", target.url.size(), kUrlSizeMax));
  }
  return target;
}

}  // namespace keymill::links
