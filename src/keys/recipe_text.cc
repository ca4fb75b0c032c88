// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The text is a promise to every store that holds one. A new field may be added only so
// that recipes without it keep their text.

#include "keys/recipe_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hex.h"
#include "keys/alphabet.h"
#include "keys/codec.h"

namespace keymill::keys {
namespace {

using Json = nlohmann::ordered_json;

// In the order of CheckSymbol.
constexpr std::array<std::string_view, 2> kCheckNames = {"none", "appended"};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

Status NotARecipe() {
  return {Code::kInvalidArgument,
          "recipe text: not one that this version writes; a newer version or somebody's hand did"};
}

Result<CheckSymbol> ParseCheck(std::string_view name) {
  const auto found = std::find(kCheckNames.begin(), kCheckNames.end(), name);
  if (found == kCheckNames.end()) return NotARecipe();
  return static_cast<CheckSymbol>(found - kCheckNames.begin());
}

bool HasTheFields(const Json& json) {
  const auto text = [&](const char* field) {
    return json.contains(field) && json[field].is_string();
  };
  const auto number = [&](const char* field) {
    return json.contains(field) && json[field].is_number_unsigned();
  };
  return json.is_object() && text("kind") && text("alphabet") && number("length") &&
         text("prefix") && text("check") && number("start") && json.contains("blocklist") &&
         json["blocklist"].is_array() &&
         std::all_of(json["blocklist"].begin(), json["blocklist"].end(),
                     [](const Json& word) { return word.is_string(); });
}

std::string DescribeBlocklists(const std::vector<std::string>& in_store,
                               const std::vector<std::string>& here) {
  std::vector<std::string> missing;
  std::vector<std::string> added;
  std::set_difference(in_store.begin(), in_store.end(), here.begin(), here.end(),
                      std::back_inserter(missing));
  std::set_difference(here.begin(), here.end(), in_store.begin(), in_store.end(),
                      std::back_inserter(added));
  return fmt::format(
      "blocklist has {} words in the store, {} here ({} only in the store, {} only "
      "here)",
      in_store.size(), here.size(), missing.size(), added.size());
}

}  // namespace

Recipe CanonicalRecipe(const Recipe& recipe) {
  Recipe canonical = recipe;
  if (const Result<Alphabet> alphabet = Alphabet::Parse(recipe.alphabet); alphabet.ok()) {
    canonical.alphabet = alphabet->name();
  }
  std::vector<std::string>& words = canonical.blocklist;
  std::transform(words.begin(), words.end(), words.begin(), LowerCase);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return canonical;
}

std::string RecipeText(const Recipe& recipe) {
  const Recipe canonical = CanonicalRecipe(recipe);
  Json json;
  json["kind"] = KindName(canonical.kind);
  json["alphabet"] = canonical.alphabet;
  json["length"] = canonical.length;
  json["prefix"] = canonical.prefix;
  json["check"] = kCheckNames.at(static_cast<std::size_t>(canonical.check));
  json["start"] = canonical.start;
  json["blocklist"] = canonical.blocklist;
  return json.dump();
}

Result<Recipe> ParseRecipeText(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !HasTheFields(json)) return NotARecipe();
  const Result<Kind> kind = ParseKind(json["kind"].get_ref<const std::string&>());
  if (!kind.ok()) return kind.status();
  const Result<CheckSymbol> check = ParseCheck(json["check"].get_ref<const std::string&>());
  if (!check.ok()) return check.status();

  Recipe recipe;
  recipe.kind = *kind;
  recipe.alphabet = json["alphabet"].get<std::string>();
  recipe.length = json["length"].get<std::uint32_t>();
  recipe.prefix = json["prefix"].get<std::string>();
  recipe.check = *check;
  recipe.start = json["start"].get<std::uint64_t>();
  recipe.blocklist = json["blocklist"].get<std::vector<std::string>>();
  if (Status status = Codec::Validate(recipe); !status.ok()) return status;
  // Whatever the parser was generous about (other fields, spaces, order, a number that was
  // cut down to 32 bits) shows here.
  if (RecipeText(recipe) != text) return NotARecipe();
  return recipe;
}

std::string RecipeHash(std::string_view recipe_text, std::span<const std::uint8_t> secret) {
  const std::string_view secret_bytes(reinterpret_cast<const char*>(secret.data()), secret.size());
  return Sha256Hex(fmt::format("{}\n{}", recipe_text, Sha256Hex(secret_bytes)));
}

std::string DescribeDifference(const Recipe& in_store, const Recipe& here) {
  const Recipe a = CanonicalRecipe(in_store);
  const Recipe b = CanonicalRecipe(here);
  std::vector<std::string> parts;
  const auto compare = [&](std::string_view field, const auto& left, const auto& right) {
    if (left == right) return;
    parts.push_back(fmt::format("{} is {} in the store, {} here", field, left, right));
  };
  compare("kind", KindName(a.kind), KindName(b.kind));
  compare("alphabet", a.alphabet, b.alphabet);
  compare("length", a.length, b.length);
  compare("prefix", fmt::format("\"{}\"", a.prefix), fmt::format("\"{}\"", b.prefix));
  compare("check", kCheckNames.at(static_cast<std::size_t>(a.check)),
          kCheckNames.at(static_cast<std::size_t>(b.check)));
  compare("start", a.start, b.start);
  if (a.blocklist != b.blocklist) parts.push_back(DescribeBlocklists(a.blocklist, b.blocklist));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace keymill::keys
