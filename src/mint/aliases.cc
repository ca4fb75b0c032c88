// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/aliases.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "keys/blocklist.h"
#include "mint/keyspace.h"

namespace keymill::mint {
namespace {

// What stands, or may one day stand, where an alias does: the first part of a path, or a name that
// people trust. In lower case, sorted.
constexpr std::array<std::string_view, 58> kReserved = {
    "about",     "abuse",   "account", "admin",    "administrator", "api",     "app",
    "assets",    "auth",    "billing", "blog",     "config",        "contact", "css",
    "dashboard", "debug",   "docs",    "download", "explain",       "favicon", "generate-id",
    "get-key",   "graphql", "health",  "healthz",  "help",          "home",    "images",
    "index",     "js",      "keymill", "keys",     "keyspaces",     "legal",   "links",
    "livez",     "login",   "logout",  "metrics",  "news",          "null",    "oauth",
    "openapi",   "privacy", "readyz",  "register", "robots",        "root",    "security",
    "settings",  "signup",  "sitemap", "static",   "status",        "support", "terms",
    "undefined", "www",
};
static_assert(std::is_sorted(kReserved.begin(), kReserved.end()));

bool IsLetterOrDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool HasForm(std::string_view alias) {
  return alias.size() >= kAliasSizeMin && alias.size() <= kAliasSizeMax &&
         IsLetterOrDigit(alias.front()) && std::all_of(alias.begin(), alias.end(), [](char c) {
           return IsLetterOrDigit(c) || c == '_' || c == '-';
         });
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace

Claim JudgeAlias(const Keyspace& keyspace, std::string_view alias) {
  if (!HasForm(alias)) {
    return {ClaimVerdict::kInvalid,
            fmt::format("an alias has {} to {} letters, digits, '_' or '-', the first a letter or "
                        "digit",
                        kAliasSizeMin, kAliasSizeMax)};
  }
  if (std::binary_search(kReserved.begin(), kReserved.end(), Lower(alias))) {
    return {ClaimVerdict::kReserved,
            fmt::format("\"{}\" is a reserved word; choose another alias", alias)};
  }
  const Result<keys::Blocklist> blocked = keys::Blocklist::Make(keyspace.recipe().blocklist);
  if (blocked.ok() && blocked->Matches(alias)) {
    return {
        ClaimVerdict::kReserved,
        fmt::format("\"{}\" spells a word on the blocklist of keyspace {}; choose another alias",
                    alias, keyspace.name())};
  }
  if (keyspace.CouldIssue(alias)) {
    return {ClaimVerdict::kLooksGenerated,
            fmt::format("keyspace {} could hand out \"{}\" as a key of its own; choose an alias of "
                        "another length, or with another symbol",
                        keyspace.name(), alias)};
  }
  return {};
}

Result<Claim> ClaimAlias(KeyRegister& keys, const Keyspace& keyspace, std::string_view alias,
                         std::string_view owner) {
  Claim judged = JudgeAlias(keyspace, alias);
  if (judged.verdict != ClaimVerdict::kClaimed) return judged;
  // The token tells this claim, repeated for want of an answer, from anybody else's.
  const KeyRow wanted{.key = std::string(alias),
                      .state = KeyState::kAlias,
                      .since_ms = keys.NowMs(),
                      .instance = keys.instance(),
                      .token = RandomHex(16),
                      .owner = std::string(owner)};
  const Result<std::vector<std::optional<KeyRow>>> present = keys.Add(keyspace, {wanted});
  if (!present.ok()) return present.status();
  const std::optional<KeyRow>& found = present->front();
  if (!found || found->token == wanted.token) return Claim{};
  if (found->state == KeyState::kAlias && !owner.empty() && found->owner == owner) {
    return Claim{ClaimVerdict::kYours};
  }
  return Claim{ClaimVerdict::kTaken, fmt::format("\"{}\" of keyspace {} is taken; choose another "
                                                 "alias",
                                                 alias, keyspace.name())};
}

}  // namespace keymill::mint
