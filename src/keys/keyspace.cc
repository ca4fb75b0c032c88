// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keymill/keyspace.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/suggest.h"

namespace keymill {
namespace {

// In the order of Kind.
constexpr std::array<std::string_view, kKinds> kKindNames = {
    "sequence", "shuffled", "ticket", "snowflake", "uuid4", "uuid7", "ulid", "pool", "derived"};

bool IsLetterOrDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool IsNameSymbol(char c) { return IsLetterOrDigit(c) || c == '_' || c == '.' || c == '-'; }

}  // namespace

Recipe DefaultRecipe(Kind kind) {
  Recipe recipe{.kind = kind, .prefix = {}, .blocklist = {}};
  if (kind == Kind::kSequence) recipe.start = 1;
  if (kind == Kind::kShuffled || kind == Kind::kPool || kind == Kind::kDerived) recipe.length = 7;
  if (kind == Kind::kSnowflake) recipe.alphabet = "decimal";
  return recipe;
}

std::string_view KindName(Kind kind) { return kKindNames.at(static_cast<std::size_t>(kind)); }

Result<Kind> ParseKind(std::string_view name) {
  const auto found = std::find(kKindNames.begin(), kKindNames.end(), name);
  if (found == kKindNames.end()) {
    return {Code::kInvalidArgument,
            fmt::format("kind \"{}\" is unknown, the kinds are {}{}", name,
                        fmt::join(kKindNames, ", "), DidYouMean(name, kKindNames))};
  }
  return static_cast<Kind>(found - kKindNames.begin());
}

Status CheckKeyspaceName(std::string_view name) {
  if (!name.empty() && name.size() <= kKeyspaceNameSizeMax && IsLetterOrDigit(name.front()) &&
      std::all_of(name.begin(), name.end(), IsNameSymbol)) {
    return Status::Ok();
  }
  // The name itself may be a megabyte of control characters: it is not repeated.
  return {Code::kInvalidArgument,
          fmt::format("keyspace name: 1 to {} letters, digits, '_', '.' or '-', the first a "
                      "letter or digit",
                      kKeyspaceNameSizeMax)};
}

}  // namespace keymill
