// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/banner.h"

#include <cstddef>

#include <fmt/format.h>

namespace keymill::app {
namespace {

constexpr std::size_t kNamesMax = 8;

std::string KeyspaceNames(const std::map<std::string, Recipe>& keyspaces) {
  std::string names;
  std::size_t count = 0;
  for (const auto& [name, recipe] : keyspaces) {
    if (count++ == kNamesMax)
      return fmt::format("{} and {} more", names, keyspaces.size() - kNamesMax);
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", name, KindName(recipe.kind));
  }
  return names.empty() ? "none yet" : names;
}

std::string_view OrOff(std::string_view url) { return url.empty() ? "off" : url; }

std::string_view Made(const Banner& banner) { return banner.created ? "created" : "opened"; }

}  // namespace

std::string TryCommand(const Banner& banner) {
  if (banner.url.empty()) {
    const bool fits = banner.keyspaces.empty() || banner.keyspaces.contains("default");
    const std::string keyspace = fits ? "default" : banner.keyspaces.begin()->first;
    if (banner.resp.empty() && !banner.grpc.empty()) {
      return fmt::format(
          R"(grpcurl -plaintext -d '{{"keyspace":"{}"}}' {} keymill.v1.Keymill/Mint)", keyspace,
          banner.grpc);
    }
    return fmt::format("redis-cli -u {} KEYMILL.MINT {}", banner.resp, keyspace);
  }
  if (banner.keyspaces.empty()) {
    return fmt::format(R"(curl -X PUT {}/v1/keyspaces/orders --json '{{"kind":"sequence"}}')",
                       banner.url);
  }
  if (banner.get_key && banner.keyspaces.contains("default")) {
    return fmt::format("curl {}/get-key", banner.url);
  }
  const auto chosen = banner.keyspaces.contains("default") ? banner.keyspaces.find("default")
                                                           : banner.keyspaces.begin();
  return fmt::format("curl -X POST {}/v1/keyspaces/{}/keys", banner.url, chosen->first);
}

std::string BannerText(const Banner& banner) {
  return fmt::format(
      "keymill {}\n"
      "  store      {} ({})\n"
      "  http       {}\n"
      "  resp       {}\n"
      "{}{}"
      "  keyspaces  {}\n"
      "  try        {}\n",
      banner.version, banner.store, Made(banner), OrOff(banner.url), OrOff(banner.resp),
      banner.grpc.empty() ? "" : fmt::format("  grpc       {}\n", banner.grpc),
      banner.links.empty() ? "" : fmt::format("  links      {}\n", banner.links),
      KeyspaceNames(banner.keyspaces), TryCommand(banner));
}

std::string BannerLine(const Banner& banner) {
  return fmt::format(
      "keymill {} is ready: store {} ({}); http {}; resp {}{}{}; keyspaces {}; try: {}",
      banner.version, banner.store, Made(banner), OrOff(banner.url), OrOff(banner.resp),
      banner.grpc.empty() ? "" : fmt::format("; grpc {}", banner.grpc),
      banner.links.empty() ? "" : fmt::format("; links {}", banner.links),
      KeyspaceNames(banner.keyspaces), TryCommand(banner));
}

}  // namespace keymill::app
